import type { Kysely } from 'kysely'
import { type Store, StoreError } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { account } from './account-kinds.ts'
import type { Kind, Row } from './kind.ts'
import { kinds } from './kinds.ts'
import { type PackedRow, PackedRows } from './packed-rows.ts'
import { Errors, type KindReport, type OnConflict, type SetAsideReport } from './report.ts'
import { deleteStored, findStored, SetAside } from './set-aside.ts'
import { ImportStaging } from './staging.ts'
import { lockRecords, type Parts, storeInParts } from './unfinished-import.ts'

export interface ArchivePartsOptions {
  readonly store: Store
  readonly db: Kysely<Tables>
  readonly rejects: Errors | SetAside
  readonly onConflict: OnConflict
  readonly tiers: boolean
  readonly source: string
}

/**
 * Stages an archive for SQLite: the columns that are compared in one table for each kind, whole rows compressed. It is
 * checked without a lock, and then stored: a small one at once, a large one in parts.
 */
export class ArchiveParts {
  readonly #options: ArchivePartsOptions
  readonly #checked: ImportStaging
  readonly #packed: PackedRows

  constructor(options: ArchivePartsOptions) {
    this.#options = options
    this.#packed = new PackedRows(options.db)
    this.#checked = new ImportStaging({
      ...options,
      engine: options.store.engine,
      isArchive: true,
      prefix: 'checked',
      rawOf: async (line, kind) => (await this.#packed.find(line, kind)).raw ?? '',
      rowOf: async (line, kind) => (await this.#packed.find(line, kind)).row,
    })
  }

  async prepare() {
    await this.#checked.prepare()
    await this.#packed.prepare()
  }

  async discard() {
    await this.#checked.discard()
    await this.#packed.discard()
  }

  add(kind: Kind, line: number, row: Row, raw: string | null = null) {
    this.#checked.add(kind, line, row)
    this.#packed.add(kind, { line, row, raw: this.#options.rejects instanceof Errors ? null : raw })
  }

  skip(kind: Kind) {
    this.#checked.skip(kind)
  }

  async flushFull() {
    await this.#checked.flushFull()
    await this.#packed.flushFull()
  }

  async flush() {
    await this.#checked.flush()
    await this.#packed.flush()
  }

  compareLines() {
    return this.#checked.compareLines()
  }

  async store(signal: AbortSignal | undefined) {
    const { store, db, rejects, source } = this.#options
    await this.#checked.compareWithStore()
    if (rejects instanceof Errors) rejects.throwIfAny()
    const endedAccess = await this.#checked.endedAccess()
    const hasStored = await findStored(db, this.#checked.tables(), source)
    const storeAll = async (parts: Parts) => {
      const reports = await this.#storeRows(parts)
      await this.#checked.findNewest()
      while ((await parts.store(part => this.#checked.updateAsOf(ACCOUNTS_AT_ONCE, part))) > 0);
      return parts.complete(async (): Promise<{ kinds: KindReport[]; setAside: SetAsideReport | undefined }> => {
        if (hasStored) await deleteStored(db)
        return { kinds: reports, setAside: rejects instanceof SetAside ? await rejects.store(Date.now()) : undefined }
      })
    }
    const isSmall = this.#checked.total <= MAX_ROWS_AT_ONCE && this.#packed.characters <= MAX_CHARACTERS_AT_ONCE
    if (!isSmall) await this.#requireSpace()
    const stored = isSmall
      ? await lockRecords(store, db, () => storeAll(oneTransaction))
      : await storeInParts(store, db, storeAll, signal)
    return { ...stored, endedAccess }
  }

  /** Checks the space before the first part, because parts cannot be undone on a full disk. Throws StoreError. */
  async #requireSpace() {
    const free = this.#options.store.freeBytes?.() ?? Infinity
    const bytes = this.#packed.characters * STORED_SIZE_FACTOR
    if (free >= bytes) return
    const needed = bytes * (await this.#checked.shareOfNew())
    if (free >= needed) return
    const inMB = (count: number) => `${(count / 1e6).toFixed(1)} MB`
    throw new StoreError(
      `the database or disk is full: the archive needs about ${inMB(needed)}, ${inMB(free)} are free`,
    )
  }

  async #storeRows(parts: Parts): Promise<KindReport[]> {
    const reports: KindReport[] = []
    for (const kind of kinds) {
      const { repeated, skipped } = this.#checked.countsOf(kind)
      const report = { kind: kind.name, added: 0, replaced: 0, skipped, unchanged: repeated }
      reports.push(report)
      for await (const rows of this.#partsOf(kind, () => parts.rows)) {
        const stored = await this.#storePart(kind, rows, parts)
        report.added += stored.added
        report.replaced += stored.replaced
        report.skipped += stored.skipped
        report.unchanged += stored.unchanged
      }
    }
    return reports
  }

  /** The rows of a kind that can be stored, in groups of about as many as `rowsAtOnce` returns. */
  async *#partsOf(kind: Kind, rowsAtOnce: () => number): AsyncGenerator<readonly PackedRow[]> {
    let group: PackedRow[] = []
    let characters = 0
    const isOnePart = kind === account && (await this.#checked.changesNames())
    for await (const pack of this.#packed.packsOf(kind)) {
      group.push(...(await this.#checked.remaining(kind, pack.rows)))
      characters += pack.characters
      if ((group.length < rowsAtOnce() && characters < MAX_CHARACTERS_IN_PART) || isOnePart) continue
      yield group
      group = []
      characters = 0
    }
    if (group.length > 0) yield group
  }

  /** Compares the rows again, because the store may have changed. */
  async #storePart(kind: Kind, rows: readonly PackedRow[], parts: Parts): Promise<KindReport> {
    const { store, rejects } = this.#options
    const lines = new Map(rows.map(row => [row.line, row]))
    const staging = new ImportStaging({
      ...this.#options,
      engine: store.engine,
      isArchive: true,
      kinds: [...new Set([account, kind])],
      rawOf: line => lines.get(line)?.raw ?? '',
    })
    await staging.prepare()
    for (const { line, row } of rows) staging.add(kind, line, row)
    await staging.flush()
    return parts.store(async part => {
      await staging.compareWithStore()
      if (rejects instanceof Errors) rejects.throwIfAny()
      if (part !== undefined) await staging.noteChanges(part)
      const reports = await staging.moveIntoStore()
      const report = reports.find(one => one.kind === kind.name)
      if (report === undefined) throw new Error(`there is no report of ${kind.name}`)
      return report
    })
  }
}

/** As much as one statement stores in a few milliseconds. */
const MAX_ROWS_AT_ONCE = 1000
const MAX_CHARACTERS_AT_ONCE = 4 * 1024 * 1024
const MAX_CHARACTERS_IN_PART = 1024 * 1024
const ACCOUNTS_AT_ONCE = 500

/** The size of a row in the store, with its indexes and the log, compared with the size of its text. */
const STORED_SIZE_FACTOR = 1.5

/** Stores all parts in a transaction that is already open. */
const oneTransaction: Parts = {
  rows: MAX_ROWS_AT_ONCE,
  store: work => work(undefined),
  complete: work => work(),
}
