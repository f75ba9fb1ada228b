/** From the fewest to the most. */
export const SHADES = ['one', 'two', 'three', 'more'] as const

/** Four shades for as many parts of the values, from the lowest to the highest. Values that are all the same have the last one. */
export function shadesOf(values: readonly number[]): (value: number) => (typeof SHADES)[number] {
  const sorted = values.toSorted((a, b) => a - b)
  return value => SHADES[Math.ceil(((sorted.lastIndexOf(value) + 1) * SHADES.length) / sorted.length) - 1] ?? 'one'
}
