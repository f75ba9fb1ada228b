import { html as template } from 'hono/html'

/** Markup. Only `html` creates it, so all text in it is escaped. */
export type Html = Extract<ReturnType<typeof template>, string>

/** A value in a template; null, undefined and booleans render as nothing. */
export type Part = Html | string | number | boolean | null | undefined | readonly Part[]

/** Markup with values in it, escaped for elements and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  const made = template(strings, ...values)
  // Only a promise among the values makes one of the whole, and Part has none.
  if (made instanceof Promise) throw new TypeError('a template was given a promise')
  return made
}

/** Empty markup. */
export const nothing: Html = html``
