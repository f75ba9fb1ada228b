import { html, type Html, type Part } from '../html.ts'
import { displayValue } from '../cookies.ts'
import { withPrefix } from '../prefix.ts'

/** How pages look and behave in this browser. Stored in cookies, because the server renders the pages. */
export interface Display {
  readonly theme: Theme
  /** Whether names, kinds and texts are replaced by neutral ones. */
  readonly discreet: boolean
  /** Whether the key D switches discreet mode. People who use voice control, or press keys by accident, switch it off. */
  readonly hasShortcut: boolean
}

export const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

export function readDisplay(cookies: ReadonlyMap<string, string>): Display {
  return {
    theme: themes.find(theme => theme === displayValue(cookies, 'theme')) ?? 'auto',
    discreet: displayValue(cookies, 'discreet') === '1',
    hasShortcut: displayValue(cookies, 'shortcut') !== '0',
  }
}

/** A whole document. `head` is what it loads. */
export function htmlDocument({ theme, discreet }: Display, title: string, head: Part, body: Part): Html {
  return withPrefix(html`<!doctype html>
<html lang="en" data-root="/"${discreet ? html` data-discreet` : null}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="${theme === 'auto' ? 'light dark' : theme}">
<title>${discreet ? 'Lockstep' : `Lockstep – ${title}`}</title>
${head}
</head>
<body>${body}</body>
</html>
`)
}

export const ring = html`<svg class="ring" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true"><circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="3"/></svg>`
