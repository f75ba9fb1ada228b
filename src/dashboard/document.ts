import { html, type Html, type Part } from './html.ts'
import type { Display } from './display.ts'

/** A whole document. `head` is what it loads. */
export function htmlDocument({ theme, discreet }: Display, title: string, head: Part, body: Part): Html {
  return html`<!doctype html>
<html lang="en" data-theme="${theme}"${discreet ? html` data-discreet` : null}>
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
`
}

/** A plain ring. */
export const ring = html`<svg class="ring" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true"><circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="3"/></svg>`
