import { parseArgs } from 'node:util'
import { allowSignIn, visitor } from '../test/support/dashboard.ts'
import { heavyYear } from '../test/support/heavy-year.ts'
import { account } from '../test/support/records.ts'
import { startService, unlimited } from '../test/support/service.ts'

/**
 * Measures each page of the dashboard after a year of heavy use: 2,000 training sessions with 25,000 segments, and 300
 * lock sessions. Times are from the request to the last byte, on one connection, and include the client, which shares the
 * process. With TEST_POSTGRES_URL it measures on that server instead of on SQLite.
 */
const { values: flags } = parseArgs({ options: { rounds: { type: 'string', default: '21' } } })
const MAX_MEDIAN_MS = 150

const now = Date.now()
await using service = await startService([account(1, 'ann'), ...heavyYear(1, now)], unlimited)
await allowSignIn(service, 'ann')
const ann = visitor(service.url)
await ann.signIn('ann')

const paths = [
  '/',
  '/training',
  '/training?range=1y',
  '/training?range=all',
  '/training?range=1y&kind=endurance&sort=grade',
  '/training.csv?range=1y',
  '/training/1000',
  '/training/1000?view=json',
  '/programs',
  '/programs/1',
  '/locks',
  '/locks/150',
  '/lock-templates',
  '/keys',
  '/settings',
]

let isSlow = false
console.log('| Page | first | median | slowest | size |')
console.log('|---|---:|---:|---:|---:|')
for (const path of paths) {
  const times: number[] = []
  let size = 0
  for (let round = 0; round <= Number(flags.rounds); round += 1) {
    const start = performance.now()
    const { status, text } = await ann.get(path)
    times.push(performance.now() - start)
    if (status !== 200) throw new Error(`${path} returned ${status}`)
    size = text.length
  }
  const [first = 0, ...rest] = times
  const sorted = rest.toSorted((a, b) => a - b)
  const median = sorted[sorted.length >> 1] ?? 0
  isSlow ||= median > MAX_MEDIAN_MS
  const ms = (value: number) => `${value.toFixed(1)} ms`
  console.log(
    `| \`${path}\` | ${ms(first)} | ${ms(median)} | ${ms(sorted.at(-1) ?? 0)} | ${Math.round(size / 1024)} KB |`,
  )
}
if (isSlow) process.exitCode = 1
