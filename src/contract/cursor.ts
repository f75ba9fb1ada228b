import { hash } from 'node:crypto'

/** A position in the order of a list. `seal` is a hash of the position and the list. */
export interface Position {
  readonly at: number
  readonly id: number
  readonly seal: string
}

/** The cursor of a row in a list (path and filters): a pure function of both. */
export function encodeCursor(at: number, id: number, list: string): string {
  return Buffer.from(`${at}.${id}.${cursorSeal(at, id, list)}`).toString('base64url')
}

/** The position in a cursor; undefined for text that `encodeCursor` never returns. `belongs` checks the list. */
export function decodeCursor(text: string): Position | undefined {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const parts = FORM.exec(plain)
  if (parts === null || Buffer.from(plain).toString('base64url') !== text) return undefined
  const [, at, id, seal = ''] = parts
  const position = { at: Number(at), id: Number(id), seal }
  return Number.isSafeInteger(position.at) && Number.isSafeInteger(position.id) ? position : undefined
}

export function belongs(position: Position, list: string): boolean {
  return position.seal === cursorSeal(position.at, position.id, list)
}

const FORM = /^(0|-?[1-9][0-9]*)\.(0|[1-9][0-9]*)\.([A-Za-z0-9_-]{16})$/

// Not a secret: it detects cursors of other lists and damaged ones.
function cursorSeal(at: number, id: number, list: string): string {
  return hash('sha256', `${at}.${id}.${list}`, 'base64url').slice(0, 16)
}
