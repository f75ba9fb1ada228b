import { html as template, raw } from 'hono/html'

/** Markup. Only `html` creates it, so all text in it is escaped. */
export type Html = Extract<ReturnType<typeof template>, string>

/** A value in a template; null, undefined and booleans render as nothing. */
export type Part = Html | string | number | boolean | null | undefined | readonly Part[]

/** Markup with values in it, escaped for elements and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  const markup = template(strings, ...values)
  // The result is a promise only if a value is one, which Part excludes.
  if (markup instanceof Promise) throw new TypeError('a value of a template is a promise')
  return markup
}

/** Empty markup. */
export const nothing: Html = html``

/** JSON as the content of a script element that is data; no text in it can end the element. */
export function jsonData(value: unknown): Html {
  return raw(JSON.stringify(value).replaceAll('<', '\\u003c'))
}
