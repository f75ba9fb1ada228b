export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The quotient of two integers, rounded half up as everywhere in the API, divided by `scale`; null when divided by 0. */
export function roundedRatio(numerator: number, denominator: number, scale = 1): number | null {
  if (denominator === 0) return null
  // In integers, because adding 0.5 to the quotient could round.
  return Math.floor((2 * numerator + denominator) / (2 * denominator)) / scale
}

/** Of integers the middle one, or the mean of the two in the middle, rounded half up; undefined without values. */
export function medianOf(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(values.length - 1) >> 1], sorted[values.length >> 1]]
  return low === undefined || high === undefined ? undefined : (roundedRatio(low + high, 2) ?? undefined)
}

/** By nearest rank, for a part from 0 to 1; undefined without values. */
export function percentileOf(part: number, values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(part * values.length)) - 1]
}
