/** How many records may be named by number. */
export const MAX_NUMBERS = 1000

/** The numbers of a text such as `12,15-40`, each once; undefined unless it has 1 to MAX_NUMBERS of them. */
export function parseNumbers(text: string): readonly number[] | undefined {
  const numbers = new Set<number>()
  for (const part of text.split(',')) {
    const [, first = '', last = first] = /^\s*([1-9]\d{0,14})(?:\s*-\s*([1-9]\d{0,14}))?\s*$/.exec(part) ?? []
    const length = Number(last) - Number(first) + 1
    if (first === '' || length < 1 || numbers.size + length > MAX_NUMBERS) return undefined
    for (let index = 0; index < length; index += 1) numbers.add(Number(first) + index)
  }
  return [...numbers]
}
