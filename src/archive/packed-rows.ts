import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { CompiledQuery, type Kysely, sql } from '../vendor/kysely.js'
import type { Tables } from '../store/tables.ts'
import type { Kind, Row } from './kind.ts'

export interface PackedRow {
  readonly line: number
  /** The text of the line, if it is kept. */
  readonly raw: string | null
  readonly row: Row
}

/** Rows of an archive, compressed, in a temporary table: they take a fraction of what the archive takes. */
export class PackedRows {
  readonly #db: Kysely<Tables>
  readonly #pending = new Map<Kind, Pending>()
  /** The pack that `find` read last. */
  #unpacked: { readonly id: number; readonly rows: readonly PackedRow[] } | undefined
  /** The length of all rows. */
  characters = 0

  constructor(db: Kysely<Tables>) {
    this.#db = db
  }

  async prepare() {
    await this.discard()
    await sql`create temporary table packed_row
      (id integer primary key, kind text not null, first integer not null, bytes blob not null)`.execute(this.#db)
    await sql`create index packed_row_by_line on packed_row (kind, first)`.execute(this.#db)
  }

  async discard() {
    await sql`drop table if exists packed_row`.execute(this.#db)
  }

  /** Adds a row; rows of a kind come in the order of their lines. */
  add(kind: Kind, packed: PackedRow) {
    const pending = this.#pending.getOrInsertComputed(kind, () => ({ rows: [], characters: 0 }))
    pending.rows.push(packed)
    let characters = packed.raw?.length ?? 0
    for (const cell of Object.values(packed.row))
      characters += typeof cell === 'string' ? cell.length : NUMBER_CHARACTERS
    pending.characters += characters
    this.characters += characters
  }

  async flushFull() {
    for (const [kind, pending] of this.#pending) {
      if (pending.rows.length >= ROWS_IN_PACK || pending.characters >= CHARACTERS_IN_PACK)
        await this.#flush(kind, pending)
    }
  }

  async flush() {
    for (const [kind, pending] of this.#pending) await this.#flush(kind, pending)
  }

  /** All rows of a kind, in the packs in which they were added. */
  async *packsOf(kind: Kind): AsyncGenerator<{ readonly rows: readonly PackedRow[]; readonly characters: number }> {
    for (let after = 0; ;) {
      const { rows } = await sql<Pack>`select id, bytes from packed_row
        where kind = ${kind.name} and id > ${after} order by id limit 1`.execute(this.#db)
      const [pack] = rows
      if (pack === undefined) return
      yield unpack(pack.bytes)
      after = pack.id
    }
  }

  /** The row of a line. */
  async find(line: number, kind: Kind): Promise<PackedRow> {
    const { rows } = await sql<{ id: number }>`select id from packed_row
      where kind = ${kind.name} and first <= ${line} order by first desc limit 1`.execute(this.#db)
    const id = rows[0]?.id ?? 0
    if (this.#unpacked?.id !== id) {
      const packs = await sql<Pack>`select id, bytes from packed_row where id = ${id}`.execute(this.#db)
      this.#unpacked = { id, rows: packs.rows.flatMap(({ bytes }) => unpack(bytes).rows) }
    }
    const found = this.#unpacked.rows.find(row => row.line === line)
    if (found === undefined) throw new Error(`line ${line} was not packed`)
    return found
  }

  async #flush(kind: Kind, pending: Pending) {
    const { rows } = pending
    for (let start = 0; start < rows.length; start += ROWS_IN_PACK) {
      const some = rows.slice(start, start + ROWS_IN_PACK)
      const values = [kind.name, some[0]?.line, pack(some)]
      await this.#db.executeQuery(
        CompiledQuery.raw('insert into packed_row (kind, first, bytes) values (?, ?, ?)', values),
      )
    }
    pending.rows = []
    pending.characters = 0
  }
}

interface Pending {
  rows: PackedRow[]
  characters: number
}

interface Pack {
  readonly id: number
  readonly bytes: Uint8Array
}

const ROWS_IN_PACK = 100
const CHARACTERS_IN_PACK = 1024 * 1024
/** About the size of a number in the store. */
const NUMBER_CHARACTERS = 8

function pack(rows: readonly PackedRow[]): Uint8Array {
  return zstdCompressSync(JSON.stringify(rows), { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
}

function unpack(bytes: Uint8Array) {
  const text = zstdDecompressSync(bytes).toString()
  // Only `pack` writes them.
  return { rows: JSON.parse(text) as PackedRow[], characters: text.length }
}
