/** How many records to read at once: one can be as long as a line of an archive, and these are held in memory. */
export class PartSize {
  rows = MIN_ROWS

  /** To the records of a part that was read. */
  adaptTo(records: ReadonlyMap<number, string>) {
    const characters = records.values().reduce((sum, { length }) => sum + length, 0)
    this.adapt(records.size, characters)
  }

  /** To how many there were, and how long they were together. */
  adapt(records: number, characters: number) {
    const average = characters / Math.max(1, records)
    this.rows = Math.min(MAX_ROWS, Math.max(MIN_ROWS, Math.floor(PART_CHARACTERS / Math.max(1, average))))
  }
}

const MIN_ROWS = 4
const MAX_ROWS = 100
/** On PostgreSQL an export takes a quarter longer with parts of 64 KB. A text of more than 128 KB is a large object for V8. */
const PART_CHARACTERS = 120 * 1024
