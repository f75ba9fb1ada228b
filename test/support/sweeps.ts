import { relative } from 'node:path'
import { getTestContext } from 'node:test'
import { postgresUrl } from './databases.ts'

/** The size of a sweep: a sample in the slow tests, all of it in `npm run test:exhaustive`. */
export function sweep(sample: number, all: number): number {
  return isWhole ? all : sample
}

/** Whether this run goes through all cases. */
export const isWhole = process.env['TEST_EXHAUSTIVE'] === 'on'

/** Of the pages of a sweep, those of a sample: every second one, from the first or the second on. */
export function everySecond<Page>(pages: readonly Page[], from: 0 | 1 = 0): readonly Page[] {
  return pages.filter((_, index) => isWhole || index % 2 === from)
}

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
 * way. Returns how many attempts failed. The error at the end has the commands that run each point that is wrong alone.
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

/**
 * Does something for so many seeds: from one in the whole sweep, from a random one in a sample. `TEST_CASE` names one alone, or a range:
 * `seed 5`, `seed 5 to 8`.
 */
export async function eachSeed(count: number, work: (seed: number) => Promise<void>): Promise<void> {
  const random = isWhole ? 1 : Math.floor(Math.random() * 1_000_000_000)
  const [, first = random, last = first] = /^seed (\d+)(?: to (\d+))?$/.exec(only ?? '') ?? [
    only,
    random,
    random + count - 1,
  ]
  const wrong: string[] = []
  for (let seed = Number(first); seed <= Number(last); seed += 1) {
    try {
      await work(seed)
    } catch (error) {
      note(wrong, `seed ${seed}`, error)
    }
  }
  if (wrong.length > 0) throw new Error(`${wrong.length} of seeds ${first} to ${last}\n${wrong.join('\n')}`)
}

/** Adds the command that runs a case which failed, and why it did. */
function note(wrong: string[], name: string, error: unknown) {
  const text = `TEST_CASE='${name}' ${commandOfTest()}\n${error instanceof Error ? error.message : String(error)}`
  wrong.push(text)
  // The whole takes hours.
  if (isWhole) process.stderr.write(`${text}\n`)
}

/** Runs the present test, on the same engine. */
function commandOfTest(): string {
  const test = getTestContext()
  const file = relative(process.cwd(), test?.filePath ?? '')
  // A test on PostgreSQL needs the server of a run.
  if (postgresUrl !== undefined) return `node test/run.ts --slow ${file}`
  // Its beginning, with any character for those that mean something in a pattern.
  const pattern = test?.name.slice(0, 70).replaceAll(/[^\w :,=-]/g, '.')
  return `node --test --test-name-pattern='^${pattern}' ${file}`
}
