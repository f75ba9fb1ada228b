import { existsSync, statSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { publish, withUnfinished } from '../backup/files.ts'
import { writeToStdout } from './print.ts'
import { Refusal } from '../contract/refusal.ts'

export type Write = (data: string | Uint8Array) => Promise<void>

/**
 * Writes what a command exports to stdout (`-`), or to a file that has its name only when it is whole and that only its owner can read. Throws
 * Refusal if there is no such folder, or it is one itself. `parent` is where work folders are.
 */
export async function writeOutput(out: string, parent: string, write: (write: Write) => Promise<void>): Promise<void> {
  if (out === STDOUT) return write(writeToStdout)
  requireFolderOf(out)
  if (statSync(out, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new Refusal('usage', `${out} is a folder: name a file`)
  }
  await withUnfinished(out, parent, async unfinished => {
    {
      await using file = await openFile(unfinished, 'wx', 0o600)
      await write(data => file.appendFile(data))
    }
    publish(unfinished, out)
  })
}

export function requireFolderOf(file: string) {
  const folder = dirname(resolve(file))
  if (!existsSync(folder)) throw new Refusal('usage', `there is no folder ${folder}`)
}

export const STDOUT = '-'
