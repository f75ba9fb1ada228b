export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The mean, rounded half up as everywhere in the API; null without values. */
export function mean(total: number, count: number): number | null {
  return count === 0 ? null : Math.floor(total / count + 0.5)
}
