import { readFileSync, statSync } from 'node:fs'
import { Refusal } from '../contract/refusal.ts'

/** The text of a file with a secret. Throws Refusal if it cannot be read, or others than its owner can. */
export function readSecretFile(file: string): string {
  let mode: number
  let text: string
  try {
    mode = statSync(file).mode
    text = readFileSync(file, 'utf8')
  } catch {
    throw new Refusal('refused', `${file} cannot be read`)
  }
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new Refusal('refused', `others can read ${file}, so it is refused: chmod 600 it`)
  }
  return text
}
