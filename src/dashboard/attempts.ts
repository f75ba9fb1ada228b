/** Counts tries by name, each in a window of its own from the first one on. Memory is bounded, whoever tries. */
export class Attempts {
  readonly #windows = new Map<string, { ends: number; used: number }>()
  readonly #most: number
  readonly #length: number

  /** `most` tries in `length` milliseconds. */
  constructor(most: number, length: number) {
    this.#most = most
    this.#length = length
  }

  /** How long this name must wait, in milliseconds; 0 when it may try. */
  wait(name: string, now: number): number {
    const window = this.#windows.get(name)
    return window !== undefined && window.ends > now && window.used >= this.#most ? window.ends - now : 0
  }

  count(name: string, now: number) {
    const window = this.#windows.get(name)
    if (window !== undefined && window.ends > now) {
      window.used += 1
      return
    }
    // Taken out first, so that windows stand in the order in which they end.
    this.#windows.delete(name)
    this.#windows.set(name, { ends: now + this.#length, used: 1 })
    for (const [other, { ends }] of this.#windows) {
      if (ends > now && this.#windows.size <= MAX_NAMES) break
      this.#windows.delete(other)
    }
  }

  /** Takes a try back, for one that was no guess. */
  forgive(name: string) {
    const window = this.#windows.get(name)
    if (window !== undefined) window.used -= 1
  }
}

const MAX_NAMES = 50_000
