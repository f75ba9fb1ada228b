import { hash } from 'node:crypto'

/** A place in the order of a page, and the list it belongs to (`seal` covers all three). */
export interface Position {
  readonly at: number
  readonly id: number
  readonly seal: string
}

/** A cursor is a pure function of the row it stands on and of the list (path and filters) it walks. */
export function encodeCursor(at: number, id: number, list: string): string {
  return Buffer.from(`${at}.${id}.${seal(at, id, list)}`).toString('base64url')
}

/** Only what `encodeCursor` could have written for some list; whether for this one, `belongs` tells. */
export function decodeCursor(text: string): Position | undefined {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const parts = FORM.exec(plain)
  if (parts === null || Buffer.from(plain).toString('base64url') !== text) return undefined
  const [, at, id, seal = ''] = parts
  const position = { at: Number(at), id: Number(id), seal }
  return Number.isSafeInteger(position.at) && Number.isSafeInteger(position.id) ? position : undefined
}

export function belongs(position: Position, list: string): boolean {
  return position.seal === seal(position.at, position.id, list)
}

const FORM = /^(0|-?[1-9][0-9]*)\.(0|[1-9][0-9]*)\.([A-Za-z0-9_-]{16})$/

// Not a secret: it only tells a cursor of another list, or a damaged one, from a cursor of this list.
function seal(at: number, id: number, list: string): string {
  return hash('sha256', `${at}.${id}.${list}`, 'base64url').slice(0, 16)
}
