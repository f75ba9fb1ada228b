import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { exportArchive } from '../../src/archive/export.ts'
import { type FormatOptions, openRecords, type Records } from '../../src/archive/formats/open.ts'
import {
  importArchive,
  ImportError,
  importLines,
  type ImportOptions,
  type ImportReport,
} from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { atEnd } from './at-end.ts'
import { type Folder, makeFolder } from './command.ts'
import { newDatabase, type TestDatabase } from './databases.ts'

/** Imports and exports of a store, without a service. */

/** A line of an archive: an object, or its exact text. */
export type Line = object | string

/** The store of one test. */
export interface TestStore extends AsyncDisposable {
  readonly store: Store
  readonly url: string
  import(archive: readonly Line[] | Buffer, options?: ImportOptions): Promise<ImportReport>
  /** Imports an archive that must be refused, and returns the errors. Fails if anything was written. */
  refuse(archive: readonly Line[] | Buffer, options?: ImportOptions): Promise<ImportError>
  /** Everything that is stored, or one account with its records, as the text of an archive. */
  export(accountId?: number): Promise<string>
}

export async function openStore(archive: readonly Line[] | Buffer = []): Promise<TestStore> {
  const empty = emptyStores.pop() ?? (await newStore())
  const { store, database } = empty
  const self: TestStore = {
    store,
    url: database.url,
    import: (given, options) => importArchive(store, chunksOf(given), options),
    async refuse(given, options) {
      const before = await self.export()
      try {
        await self.import(given, options)
      } catch (error) {
        assert(error instanceof ImportError, String(error))
        assert.equal(await self.export(), before)
        return error
      }
      throw new assert.AssertionError({ message: 'the archive was accepted' })
    },
    export: accountId => exportOf(store, accountId),
    async [Symbol.asyncDispose]() {
      // Everything stored belongs to an account. Creating a database is slow, so this one is emptied and used again.
      await store.db.deleteFrom('account').execute()
      await store.db.deleteFrom('set_aside').execute()
      await store.db.deleteFrom('removed_account').execute()
      emptyStores.push(empty)
    },
  }
  await self.import(archive)
  return self
}

interface EmptyStore {
  readonly store: Store
  readonly database: TestDatabase
}

const emptyStores: EmptyStore[] = []
const allStores: EmptyStore[] = []

atEnd(async () => {
  for (const { store, database } of allStores) {
    await store.close()
    await database.remove()
  }
})

async function newStore(): Promise<EmptyStore> {
  const database = await newDatabase()
  const made = { database, store: await open(database.url, { busyTimeoutMs: 5000 }) }
  allStores.push(made)
  return made
}

/** Everything that is stored, or one account with its records, as the text of an archive. */
export async function exportOf(store: Store, accountId?: number): Promise<string> {
  let text = ''
  await exportArchive(store, async part => void (text += part), accountId)
  return text
}

/** An archive without the time at which its accounts were read at their source. */
export const withoutAsOf = (archive: string) => archive.replaceAll(/,"asOf":"[^"]*"/g, '')

/** What stands in each line of an archive, or of another text of such lines. */
export function parseLines(text: string): any[] {
  const lines = text.trim().split('\n')
  return lines.map(line => JSON.parse(line))
}

/** The lines of an archive as the bytes of a file. */
export function bytesOf(lines: readonly Line[]): Buffer {
  return Buffer.from(lines.map(line => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
}

/** Bytes split at these positions, as they might arrive. */
export async function* cut(bytes: Buffer, places: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const place of places.toSorted((a, b) => a - b)) {
    yield bytes.subarray(start, place)
    start = place
  }
  yield bytes.subarray(start)
}

/** The sums over all kinds. */
export function totals({ kinds }: ImportReport) {
  const sum = { added: 0, replaced: 0, unchanged: 0, skipped: 0 }
  for (const kind of kinds) {
    sum.added += kind.added
    sum.replaced += kind.replaced
    sum.unchanged += kind.unchanged
    sum.skipped += kind.skipped
  }
  return sum
}

function chunksOf(archive: readonly Line[] | Buffer): AsyncGenerator<Buffer> {
  return cut(Buffer.isBuffer(archive) ? archive : bytesOf(archive), [])
}

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
  const { format, lines, found } = await openFile(content, options)
  return importLines(store, lines, { ...options, isArchive: format === 'archive', confirm: db => found.confirm(db) })
}

/** What a file says of itself, and its lines, beside what a store has. */
export async function readFileOf(
  content: Content,
  options: Partial<FormatOptions> = {},
  given?: { readonly store: Store },
) {
  await using empty = given === undefined ? await openStore() : undefined
  const { store } = given ?? empty ?? assert.fail()
  const { lines, found } = await openFile(content, options)
  const all: Line[] = []
  for await (const batch of lines({ db: store.db, isPreview: true })) all.push(...batch)
  return { lines: all, found }
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

/** A folder with a database and a backup of `base`, an archive of each and of both, and a database and a backup of both. */
export async function folderOf(base: readonly object[], more: readonly object[]): Promise<Folder> {
  const folder = await makeFolder()
  const archive = (lines: readonly object[]) => `${lines.map(line => JSON.stringify(line)).join('\n')}\n`
  writeFileSync(folder.file('base.ndjson'), archive(base))
  writeFileSync(folder.file('more.ndjson'), archive(more))
  writeFileSync(folder.file('whole.ndjson'), archive([...base, ...more]))
  const all = ['--database', 'sqlite:all.db']
  for (const args of [
    ['import', 'whole.ndjson', ...all],
    ['backup', 'whole.db', ...all],
    ['import', 'base.ndjson'],
    ['backup', 'base.db'],
  ]) {
    const { code, stderr } = await folder.run(args)
    assert.equal(code, 0, stderr)
  }
  return folder
}
