import { newDatabase } from '../test/support/databases.ts'
import { fillLong, longPaths, type LongVisit, maxMegabytes, serveLong } from '../test/support/long-history.ts'

/**
 * Measures what pages and downloads of an account with 20,000 training sessions cost others: how long their requests wait, and how
 * much memory they take. A request waits at least as long as the event loop is blocked. Each round has a service of its own,
 * because the first page of a process reads all sessions. The best round counts, because other work on the machine slows down
 * single rounds.
 */
const MAX_WAIT_MS = 50

/** Returns whether it took too long or too much. */
export async function measureHistory(rounds: number): Promise<boolean> {
  const visits = await visitAll(rounds)
  console.log('\n| Of 20,000 sessions | memory | others: requests | refused | 99th percentile | longest wait |')
  console.log('|---|---:|---:|---:|---:|---:|')
  let isOver = false
  for (const [path, found] of visits) {
    const least = (figure: (visit: LongVisit) => number) => Math.min(...found.map(figure))
    const [memory, p99, longest] = [
      least(({ before, peak }) => peak - before),
      least(visit => waits(visit)[Math.ceil(visit.others.length * 0.99) - 1] ?? 0),
      least(visit => waits(visit).at(-1) ?? 0),
    ]
    const others = found.flatMap(visit => visit.others)
    const refused = others.filter(({ status }) => status !== 200).length
    const hasFailed = found.some(({ status }) => status !== 200)
    isOver ||= hasFailed || refused > 0 || memory > maxMegabytes(path) || longest > MAX_WAIT_MS
    console.log(
      `| \`${path}\` | ${memory} MB | ${others.length} | ${refused} | ${p99.toFixed(1)} ms | ${longest.toFixed(1)} ms |`,
    )
  }
  return isOver
}

async function visitAll(rounds: number): Promise<ReadonlyMap<string, readonly LongVisit[]>> {
  const database = await newDatabase()
  try {
    const keys = await fillLong(database)
    const visits = new Map<string, LongVisit[]>()
    for (let round = 0; round < rounds; round += 1) {
      await using service = await serveLong(database, keys)
      for (const [path] of longPaths) {
        const visit = await service.visit(path)
        visits.set(path, [...(visits.get(path) ?? []), visit])
      }
    }
    return visits
  } finally {
    await database.remove()
  }
}

function waits({ others }: LongVisit): number[] {
  return others.map(({ took }) => took).toSorted((a, b) => a - b)
}
