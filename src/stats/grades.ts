import { roundedRatio } from '../contract/numbers.ts'

export class GradeCounts {
  count = 0
  #sum = 0
  readonly #usual = new Uint32Array(MAX_USUAL + 1)
  /** Grades that are not percentages from 0 to 100. */
  readonly #unusual = new Map<number, number>()

  add(grade: number): void {
    this.count += 1
    this.#sum += grade
    if (grade >= 0 && grade <= MAX_USUAL) this.#usual[grade] = (this.#usual[grade] ?? 0) + 1
    else this.#unusual.set(grade, (this.#unusual.get(grade) ?? 0) + 1)
  }

  /** The mean with one decimal, rounded half up; null without grades. */
  mean(): number | null {
    return roundedRatio(this.#sum * 10, this.count, 10)
  }

  /** A percentile of the grades, by nearest rank, the lowest one for 0; null without grades. */
  percentile(share: number): number | null {
    return this.#ranked(Math.max(1, Math.ceil((share * this.count) / 100)))
  }

  /** The middle grade, or the mean of the two in the middle, rounded half up; null without grades. */
  median(): number | null {
    const [low = null, high = null] = [this.count + 1, this.count + 2].map(double => this.#ranked(double >> 1))
    return low === null || high === null ? null : roundedRatio(low + high, 2)
  }

  #ranked(rank: number): number | null {
    if (this.count === 0) return null
    let left = rank
    const unusual = [...this.#unusual].toSorted(([a], [b]) => a - b)
    for (const [grade, times] of unusual) if (grade < 0 && (left -= times) <= 0) return grade
    for (let grade = 0; grade <= MAX_USUAL; grade += 1) if ((left -= this.#usual[grade] ?? 0) <= 0) return grade
    for (const [grade, times] of unusual) if (grade > 0 && (left -= times) <= 0) return grade
    return null
  }
}

const MAX_USUAL = 100
