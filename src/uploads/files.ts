import { createReadStream } from 'node:fs'
import type { Kysely } from 'kysely'
import { FormatError } from '../archive/formats/errors.ts'
import { openRecords, type Records } from '../archive/formats/open.ts'
import type { Lines } from '../archive/lines.ts'
import { kindsByName } from '../archive/records.ts'
import { decryptArchive, typedKeys } from '../backup/encryption.ts'
import { escapeControls } from '../contract/control-characters.ts'
import type { Tables } from '../store/tables.ts'
import type { UploadAnswers } from './uploads.ts'

interface FilesOptions {
  readonly accountId: number
  readonly answers: UploadAnswers
  readonly kind: string | undefined
  /** Our titles of columns, by their titles in the files. */
  readonly columns: UploadAnswers['columns']
  readonly timeZone: string
  /** Called as the files are read. */
  readonly showLife: () => void
}

interface OpenedFile {
  readonly path: string
  readonly number: number
  readonly format: Records['format']
}

/** The files of an upload, read one after the other. */
export class UploadedFiles {
  readonly #paths: readonly string[]
  readonly #options: FilesOptions
  /** In the order in which they are read. */
  #files: readonly OpenedFile[] = []
  /** How many lines come before each file. */
  readonly #starts: number[] = []
  readonly #found: Records['found'][] = []
  #current = 0
  /** How many lines they have, blank ones too. */
  #lineCount = 0
  /** How many bytes their records have. */
  bytes = 0
  needsSecret = false

  constructor(paths: readonly string[], options: FilesOptions) {
    this.#paths = paths
    this.#options = options
  }

  /** The kind of records that do not say it; undefined if there is no such kind. */
  get kind(): string | undefined {
    const { kind = '' } = this.#options
    return kindsByName.get(kind)?.isOwned === true ? kind : undefined
  }

  get columns(): UploadAnswers['columns'] {
    return this.#options.columns
  }

  /** Finds out the formats of the files. */
  async open(): Promise<void> {
    const files: OpenedFile[] = []
    for (const [index, path] of this.#paths.entries()) {
      this.#current = index + 1
      const format = await this.#read(path, async ({ format }) => format)
      files.push({ path, number: index + 1, format })
    }
    // The last line of an archive counts those before it.
    this.#files = files.toSorted((a, b) => Number(b.format === 'archive') - Number(a.format === 'archive'))
  }

  /** Whether all of them are archives, in which a missing field means no value. */
  get isArchive(): boolean {
    return this.#files.every(({ format }) => format === 'archive')
  }

  async *lines(context: Parameters<Records['lines']>[0]): Lines {
    this.#starts.length = 0
    const together = { ...context, minutes: new Set<string>() }
    this.#lineCount = 0
    let last = 0
    for (const { path, number } of this.#files) {
      this.#current = number
      const before = last
      this.#starts.push(before)
      const file = createReadStream(path)
      try {
        const { lines, found } = await this.#open(file)
        this.#found.push(found)
        for await (const batch of lines(together)) {
          const numbered = batch.map(line => ({ ...line, number: before + line.number }))
          last = numbered.reduce((most, { number }) => Math.max(most, number), last)
          for (const { text = '' } of numbered) this.bytes += text.length
          yield numbered
        }
      } finally {
        file.destroy()
      }
    }
    this.#current = 0
  }

  /** Where a line is, for people. */
  placeOf(line: number): string {
    const index = this.#starts.findLastIndex(start => start < line)
    const place = line - (this.#starts[index] ?? 0)
    return this.#paths.length === 1 ? String(place) : `file ${this.#files[index]?.number}: ${place}`
  }

  /** A problem of the file that was being read, with its number if there are several. */
  named(problem: string): string {
    return this.#paths.length === 1 || this.#current === 0 ? problem : `file ${this.#current}: ${problem}`
  }

  /** Throws FormatError if stored records that they were compared with have changed since. */
  async confirm(db: Kysely<Tables>): Promise<void> {
    for (const { confirm } of this.#found) await confirm(db)
  }

  /** What the report says of the files. */
  facts() {
    const isResponse = (file: OpenedFile) => file.format === 'responses'
    const unit: 'line' | 'record' | undefined = this.#files.every(isResponse)
      ? 'record'
      : this.#files.some(isResponse)
        ? undefined
        : 'line'
    return {
      needsSecret: this.needsSecret,
      hasNoEnd: !this.isArchive,
      usesTimeZone: this.#found.some(({ usesTimeZone }) => usesTimeZone),
      notRead: this.#notRead(),
      converted: this.#found.flatMap(({ converted }) =>
        [...converted].map(([what, { count, before, after }]) => ({ what, count, before, after })),
      ),
      differing: this.#found.reduce((sum, { differing }) => sum + differing.length, 0),
      offset: this.#found.find(({ offset }) => offset !== undefined)?.offset,
      ...(unit === undefined ? {} : { unit }),
    }
  }

  /** The first titles, which are those of the sender. */
  #notRead() {
    const columns = new Map(this.#found.flatMap(({ notRead }) => notRead.map(column => [column.title, column])))
    return [...columns.values()].slice(0, MAX_TITLES).map(({ title, ...meant }) => ({
      title: escapeControls(title.slice(0, MAX_TITLE)),
      ...meant,
    }))
  }

  async #read<Result>(path: string, work: (records: Records) => Promise<Result>): Promise<Result> {
    const file = createReadStream(path)
    try {
      return await work(await this.#open(file))
    } finally {
      file.destroy()
    }
  }

  #open(file: ReturnType<typeof createReadStream>): Promise<Records> {
    const { accountId, answers, timeZone } = this.#options
    return openRecords(file as AsyncIterable<Buffer>, {
      account: accountId,
      timeZone,
      kind: this.kind,
      columns: new Map(Object.entries(this.columns ?? {})),
      onRead: chunk => this.#count(chunk),
      decrypt: chunks => {
        this.needsSecret = true
        const { secret = '' } = answers
        return decryptArchive(chunks, secret === '' ? undefined : typedKeys(secret))
      },
    })
  }

  #count(chunk: Buffer) {
    this.#options.showLife()
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.#lineCount += 1
    if (this.#lineCount > MAX_LINES) throw new FormatError(`it has more than ${MAX_LINES.toLocaleString('en')} lines`)
  }
}

const NEWLINE = 0x0a
const MAX_LINES = 10_000_000
const MAX_TITLES = 20
const MAX_TITLE = 40
