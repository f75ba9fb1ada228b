import { html as template } from 'hono/html'

/** Markup. Only `html` makes it, so all text in it has been escaped. */
export type Html = Extract<ReturnType<typeof template>, string>

/** What may stand in a template; null, undefined and flags leave no trace. */
export type Part = Html | string | number | boolean | null | undefined | readonly Part[]

/** Markup with values in it: text is escaped, for the body of an element and for a quoted attribute. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  const made = template(strings, ...values)
  // Only a promise among the values makes one of the whole, and Part has none.
  if (made instanceof Promise) throw new TypeError('a template was given a promise')
  return made
}

/** Stands where there is nothing to show. */
export const nothing: Html = html``
