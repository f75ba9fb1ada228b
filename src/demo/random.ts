export type Random = ReturnType<typeof seeded>

/** Pseudorandom numbers that are the same on every run and every machine. */
export function seeded(seed: number) {
  let state = seed
  // Mulberry32, which has only integer steps, so every machine gets the same numbers.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** From `least` (included) to `most` (excluded). */
    between: (least: number, most: number) => least + next() * (most - least),
    /** An integer from `least` to `most`, both included. */
    whole: (least: number, most: number) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability: number) => next() < probability,
  }
}
