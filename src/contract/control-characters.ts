/**
 * Text of others, such as a name, for a terminal or a page. Characters that move the cursor, colour text or reverse it become
 * escapes such as \u202e, which mean the same in JSON. Tabs and newlines stay.
 */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** C0 without tabs and newlines, DEL, C1, and what changes the direction of text. */
const CONTROLS = /[[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]--[\t\n\r]]|\r(?!\n)/gv
