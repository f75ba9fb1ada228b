/** Pseudorandom numbers that are the same on every run and every machine. */
export interface Random {
  /** From `least` (included) to `most` (excluded). */
  between(least: number, most: number): number
  /** An integer from `least` to `most`, both included. */
  whole(least: number, most: number): number
  chance(probability: number): boolean
  /** One of the items, with a probability in proportion to its weight. */
  pick<Item extends { readonly weight: number }>(items: readonly [Item, ...Item[]]): Item
  /** Approximately normal: mean 0, standard deviation 1, never beyond 3.5. */
  noise(): number
}

export function seeded(seed: number): Random {
  let state = seed

  // Mulberry32, which has only integer steps, so every machine gets the same numbers.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  return {
    between: (least, most) => least + next() * (most - least),
    whole: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: probability => next() < probability,
    pick(items) {
      let left = next() * items.reduce((sum, { weight }) => sum + weight, 0)
      return items.find(({ weight }) => (left -= weight) < 0) ?? items[0]
    },
    // The sum of four even draws has mean 2 and variance 1/3.
    noise: () => (next() + next() + next() + next() - 2) * Math.sqrt(3),
  }
}

/** A secondary identifier in the usual form: an instant, and a number that depends on `salt` alone. */
export function bubbleId(at: number, salt: number): string {
  return `${at}x${String(seeded(salt).whole(1e14, 1e15 - 1)).padEnd(18, '0')}`
}

/** A short public identifier that depends on `salt` alone. */
export function publicId(salt: number): string {
  const random = seeded(salt)
  return Array.from({ length: 8 }, () => PUBLIC_LETTERS[random.whole(0, PUBLIC_LETTERS.length - 1)]).join('')
}

// Without the letters that are mistaken for digits.
const PUBLIC_LETTERS = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
