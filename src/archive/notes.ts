/** How a value that does not match the wire format was converted. */
export type Leniency =
  | 'beyond-milliseconds'
  | 'no-zone'
  | 'fraction'
  | 'null-number'
  | 'missing'
  | 'other-type'
  | 'unknown-tier'
  | 'not-started'

/** What is found when a record is read, in addition to its row. */
export class Notes {
  readonly #now: number
  /** Values that have no field in the wire format, by RFC 6901 pointers into the record as it is written. */
  readonly extra: ExtraField[] = []
  /** Names of fields that the wire format does not have. */
  readonly unknown: string[] = []
  readonly leniencies: Leniency[] = []
  /** Names of fields of the record that the source left out, and that are stored as empty. */
  readonly missing: string[] = []
  /** The newest instant of the record that is not in the future, without planned ends. */
  newest: number | null = null

  constructor(now = Date.now()) {
    this.#now = now
  }

  addUnknown(name: string, value: unknown) {
    this.unknown.push(name)
    this.extra.push({ pointer: `/${escape(name)}`, value })
  }

  /** Keeps the value of the field that is being written, where the record gets another one. The caller adds its name. */
  addSent(value: unknown) {
    this.extra.push({ pointer: '', value })
  }

  addInstant(instant: number) {
    if (instant <= this.#now && (this.newest === null || instant > this.newest)) this.newest = instant
  }

  /** Prefixes the pointers from index `start` on with a field name or an item index. */
  nest(start: number, name: string | ((entry: number) => number)) {
    for (let entry = start; entry < this.extra.length; entry += 1) {
      const field = this.extra[entry]
      if (field === undefined) continue
      const parent = typeof name === 'string' ? escape(name) : String(name(entry))
      this.extra[entry] = { ...field, pointer: `/${parent}${field.pointer}` }
    }
  }
}

interface ExtraField {
  readonly pointer: string
  readonly value: unknown
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
