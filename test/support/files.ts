import { type ImportOptions, type ImportReport, importLines } from '../../src/archive/import.ts'
import { type FormatOptions, openRecords, type Records } from '../../src/archive/formats/open.ts'
import type { Store } from '../../src/store/index.ts'

/** Files in the formats that people have. */

export type Content = string | Uint8Array

/** Opens a file in pieces of random length, as they arrive. */
export function openFile(content: Content, options: Partial<FormatOptions> = {}): Promise<Records> {
  return openRecords(pieces(Buffer.from(content)), { decrypt: () => assertNotEncrypted(), ...options })
}

/** Imports a file, as the command does. */
export async function importFile(
  { store }: { readonly store: Store },
  content: Content,
  options: Partial<FormatOptions> & ImportOptions = {},
): Promise<ImportReport> {
  const { format, lines } = await openFile(content, options)
  return importLines(store, lines, { ...options, isArchive: format === 'archive' })
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length;) {
    const length = 1 + Math.floor(Math.random() * 5000)
    yield bytes.subarray(start, start + length)
    start += length
  }
}

function assertNotEncrypted(): never {
  throw new Error('the file is not encrypted')
}
