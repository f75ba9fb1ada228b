import { type FileHandle, open } from 'node:fs/promises'
import { FormatError } from '../archive/formats/errors.ts'
import { openRecords, type Records } from '../archive/formats/open.ts'
import { newFound } from '../archive/formats/table-lines.ts'
import type { Lines, LinesOf } from '../archive/lines.ts'
import { kindsByName } from '../archive/records.ts'
import { decryptArchive, typedKeys } from '../backup/encryption.ts'
import { escapeControls } from '../contract/control-characters.ts'
import type { UploadAnswers } from './uploads.ts'

interface FilesOptions {
  readonly accountId: number
  readonly answers: UploadAnswers
  readonly timeZone: string
  /** Called as the files are read. */
  readonly showLife: () => void
}

type OpenedFile = Pick<Records, 'format'> & { readonly path: string; readonly number: number }

/** The files of an upload, read one after the other. */
export class UploadedFiles {
  readonly #paths: readonly string[]
  readonly #options: FilesOptions
  /** In the order in which they are read. */
  #files: readonly OpenedFile[] = []
  /** How many lines come before each file. */
  readonly #starts: number[] = []
  readonly found = newFound()
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
    const { kind = '' } = this.#options.answers
    return kindsByName.get(kind)?.isOwned === true ? kind : undefined
  }

  async open(): Promise<void> {
    const files: OpenedFile[] = []
    for (const [index, path] of this.#paths.entries()) {
      this.#current = index + 1
      await using file = await open(path)
      const { format } = await this.#open(file)
      files.push({ path, number: index + 1, format })
    }
    // The last line of an archive counts those before it.
    this.#files = files.toSorted((a, b) => Number(b.format === 'archive') - Number(a.format === 'archive'))
  }

  /** Whether all of them are archives, in which a missing field means no value. */
  get isArchive(): boolean {
    return this.#files.every(({ format }) => format === 'archive')
  }

  async *lines(context: Parameters<LinesOf>[0]): Lines {
    this.#starts.length = 0
    this.#lineCount = 0
    let last = 0
    for (const { path, number } of this.#files) {
      this.#current = number
      const before = last
      this.#starts.push(before)
      await using file = await open(path)
      const { lines } = await this.#open(file)
      for await (const batch of lines(context)) {
        const numbered = batch.map(line => ({ ...line, number: before + line.number }))
        last = numbered.reduce((most, { number }) => Math.max(most, number), last)
        for (const { text = '' } of numbered) this.bytes += text.length
        yield numbered
      }
    }
    this.#current = 0
  }

  placeOf(line: number): string {
    const index = this.#starts.findLastIndex(start => start < line)
    const place = line - (this.#starts[index] ?? 0)
    return this.#paths.length === 1 ? String(place) : `file ${this.#files[index]?.number}: ${place}`
  }

  /** A problem of the file that was being read, with its number if there are several. */
  named(problem: string): string {
    return this.#paths.length === 1 || this.#current === 0 ? problem : `file ${this.#current}: ${problem}`
  }

  facts() {
    const units = new Set(this.#files.map(({ format }) => (format === 'responses' ? 'record' : 'line')))
    const [unit, another] = units
    const { usesTimeZone, notRead, converted, differing, beside, offset } = this.found
    const columns = new Map(notRead.map(column => [column.title, column]))
    return {
      kind: this.kind,
      columns: this.#options.answers.columns,
      needsSecret: this.needsSecret,
      /** Whether some of the files are of a format that has no last line. */
      hasNoEnd: !this.isArchive,
      usesTimeZone,
      /** The first titles, which are those of the sender. */
      notRead: [...columns.values()]
        .slice(0, MAX_TITLES)
        .map(({ title, ...meant }) => ({ title: escapeControls(title.slice(0, MAX_TITLE)), ...meant })),
      converted: [...converted].map(([what, conversion]) => ({ what, ...conversion })),
      differing: differing.length,
      beside: beside.length,
      offset,
      /** What the numbers in places count, if that is the same in all files. */
      ...(unit === undefined || another !== undefined ? {} : { unit }),
    }
  }

  #open(file: FileHandle): Promise<Records> {
    const { accountId, answers, timeZone } = this.#options
    // A stream that its reader leaves early cannot be disposed of, so the file is closed alone.
    const stream = file.createReadStream({ autoClose: false })
    return openRecords(stream as AsyncIterable<Buffer>, {
      account: accountId,
      timeZone,
      found: this.found,
      kind: this.kind,
      columns: new Map(Object.entries(answers.columns ?? {})),
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
