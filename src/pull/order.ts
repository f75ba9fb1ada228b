import { instantOf, type SourceData } from './rows.ts'

/** Checks whether the rows of a list come newest first. */
export class ListOrder {
  readonly #field: string | undefined
  #lastSecond = Infinity
  isNewestFirst = true
  /** The newest instant of the last page; undefined if it had none. */
  newest: number | undefined

  constructor(field: string | undefined) {
    this.#field = field
  }

  instantOf(data: SourceData): number | undefined {
    return this.#field === undefined ? undefined : instantOf(data[this.#field])
  }

  /** Adds the instants of a page. Rows without an instant are ignored. */
  add(instants: readonly (number | undefined)[]) {
    this.newest = undefined
    for (const instant of instants) {
      if (instant === undefined) continue
      const second = Math.floor(instant / 1000)
      if (second > this.#lastSecond) this.isNewestFirst = false
      this.#lastSecond = second
      this.newest = Math.max(this.newest ?? instant, instant)
    }
  }
}
