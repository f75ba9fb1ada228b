import { html as template } from 'hono/html'
import { escapeControls } from '../contract/control-characters.ts'

/** Markup. Only `html` creates it, so all text in it is escaped. */
export type Html = Extract<ReturnType<typeof template>, string>

/** A value in a template; null, undefined and booleans render as nothing. */
export type Part = Html | string | number | boolean | null | undefined | readonly Part[]

/** Markup with values in it, escaped for elements and quoted attributes; control characters in them are shown as escapes. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  const markup = template(strings, ...values.map(withVisibleControls))
  // The result is a promise only if a value is one, which Part excludes.
  if (markup instanceof Promise) throw new TypeError('a value of a template is a promise')
  return markup
}

function withVisibleControls(value: Part): Part {
  if (typeof value === 'string') return escapeControls(value)
  return isList(value) ? value.map(withVisibleControls) : value
}

function isList(value: Part): value is readonly Part[] {
  return Array.isArray(value)
}

/** Text of a form field exactly as it was entered, so that it is sent back unchanged. */
export function fieldText(text: string): Html {
  return template`${text}` as Html
}

/** Empty markup. */
export const nothing: Html = html``

/**
 * A figure for people, with its value: `of` says what it is of which days, with filters. The same figure has one value on all pages.
 * `sessions 2026-09-07/2026-11-27 type=endurance`
 */
export function figure(of: string, value: number, text: Part): Html {
  return html`<data value="${value}" data-of="${of}">${text}</data>`
}
