/** The size of a sweep: a sample in the slow tests, all of it in `npm run test:exhaustive`. */
export function sweep(sample: number, all: number): number {
  return isWhole ? all : sample
}

/** Whether this run goes through all cases. */
export const isWhole = process.env['TEST_EXHAUSTIVE'] === 'on'

/** The only case to run, as a failure named it. */
const only = process.env['TEST_CASE']

/** What a sweep goes through: how something fails, and at which call. */
export interface Point<How extends string> {
  readonly how: How
  readonly number: number
}

/**
 * Goes through the calls of some work, and lets each fail in each way. `attempt` does the work and returns whether it came as far
 * as that call; `total` is about how many calls it makes. A sample takes the first, the last and some between, each in another
 * way. Returns how many attempts failed. The error at the end names all points that are wrong: `TEST_CASE` with one of these names runs
 * it alone.
 */
export async function eachPoint<How extends string>(
  { total, ways, sample, shift = 0 }: { total: number; ways: readonly How[]; sample: number; shift?: number },
  attempt: (point: Point<How>) => Promise<boolean>,
): Promise<number> {
  const wrong: string[] = []
  let reached = 0
  const tryAt = async (point: Point<How>) => {
    const name = `${point.how} ${point.number}`
    if (only !== undefined && only !== name) return true
    try {
      const isReached = await attempt(point)
      if (isReached) reached += 1
      return isReached
    } catch (error) {
      note(wrong, name, error)
      return true
    }
  }
  if (isWhole || only !== undefined) {
    for (const how of ways) {
      for (let number = 1; number <= total * 2; number += 1) if (!(await tryAt({ how, number }))) break
    }
  } else {
    for (let index = 0; index < sample; index += 1) {
      const number = 1 + Math.round((index * (total - 1)) / Math.max(1, sample - 1))
      await tryAt({ how: ways[(index + shift) % ways.length] as How, number })
    }
  }
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${reached + wrong.length}\n${wrong.join('\n')}`)
  return reached
}

/** Does something for so many seeds: from one in the whole sweep, from a random one in a sample. `TEST_CASE` names one alone. */
export async function eachSeed(count: number, work: (seed: number) => Promise<void>): Promise<void> {
  const first = isWhole ? 1 : Math.floor(Math.random() * 1_000_000_000)
  const named = /^seed (\d+)$/.exec(only ?? '')?.[1]
  const seeds = named === undefined ? Array.from({ length: count }, (_, index) => first + index) : [Number(named)]
  const wrong: string[] = []
  for (const seed of seeds) {
    try {
      await work(seed)
    } catch (error) {
      note(wrong, `seed ${seed}`, error)
    }
  }
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${seeds.length}\n${wrong.join('\n')}`)
}

/** Adds the name of a case that failed, and why. */
function note(wrong: string[], name: string, error: unknown) {
  const text = `TEST_CASE='${name}': ${error instanceof Error ? error.message : String(error)}`
  wrong.push(text)
  // The whole takes hours.
  if (isWhole) process.stderr.write(`${text}\n`)
}
