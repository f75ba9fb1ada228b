import { parseArgs } from 'node:util'
import { closeBrowser } from '../test/support/chromium.ts'
import { allowSignIn, visitor } from '../test/support/dashboard.ts'
import { heavyYears } from '../test/support/heavy-year.ts'
import { MAX_PAGE_BYTES, MAX_PAGE_NODES, heavyViews, nodesOf } from '../test/support/page-budgets.ts'
import { account } from '../test/support/records.ts'
import { startService, unlimited } from '../test/support/service.ts'
import { measureHistory } from './page-history.ts'
import { openPhone, type Paint } from './page-paints.ts'

/**
 * Measures each page of the dashboard for an account with 20,000 training sessions, 250,000 segments and 2,000 lock sessions, and
 * fails if one is too large or takes too long. The time is CPU time. It includes that of the client in the same process, which is
 * measured with an asset and subtracted. With TEST_POSTGRES_URL it measures on that server instead of on SQLite.
 *
 * Then it opens each page in a browser that is as slow as a phone (page-paints.ts), and prints the best of some rounds, because
 * other work on the machine slows down single rounds; `--paints 0` leaves that out. Then it measures what an account with 20,000
 * sessions costs others (page-history.ts); `--history 0` leaves that out.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '21' },
    paints: { type: 'string', default: '3' },
    history: { type: 'string', default: '3' },
  },
})
const MAX_CPU_MS = 20
const MAX_LARGEST_PAINT_MS = 1500
const MAX_LONG_TASKS_MS = 300

const now = Date.now()
await using service = await startService([account(1, 'ann'), ...heavyYears(1, now)], unlimited)
await allowSignIn(service, 'ann')
const ann = visitor(service.url)
await ann.signIn('ann')

const client = (await measure('/assets/favicon.svg')).median
let isOver = false
console.log('| Page | first | median | slowest | size | elements |')
console.log('|---|---:|---:|---:|---:|---:|')
for (const path of heavyViews) {
  const { first, median, slowest, text } = await measure(path)
  const [cpu, bytes, nodes] = [Math.max(0, median - client), Buffer.byteLength(text), nodesOf(text)]
  isOver ||= cpu > MAX_CPU_MS || bytes > MAX_PAGE_BYTES || nodes > MAX_PAGE_NODES
  const ms = (value: number) => `${Math.max(0, value - client).toFixed(1)} ms`
  console.log(
    `| \`${path}\` | ${ms(first)} | ${ms(median)} | ${ms(slowest)} | ${(bytes / 1024).toFixed(1)} KB | ${nodes} |`,
  )
}
if (Number(flags.paints) > 0) await measurePaints(Number(flags.paints))
await closeBrowser()
if (Number(flags.history) > 0 && (await measureHistory(Number(flags.history)))) isOver = true
if (isOver) process.exitCode = 1

async function measurePaints(rounds: number) {
  await using phone = await openPhone(service.url, 'ann')
  console.log('\n| Page, on a slow phone | largest paint | long tasks |')
  console.log('|---|---:|---:|')
  for (const path of heavyViews) {
    const paints: Paint[] = []
    for (let round = 0; round < rounds; round += 1) paints.push(await phone.open(path))
    const largestPaint = Math.min(...paints.map(paint => paint.largestPaint))
    const longTasks = Math.min(...paints.map(paint => paint.longTasks))
    isOver ||= largestPaint > MAX_LARGEST_PAINT_MS || longTasks > MAX_LONG_TASKS_MS
    console.log(`| \`${path}\` | ${largestPaint.toFixed(0)} ms | ${longTasks.toFixed(0)} ms |`)
  }
}

async function measure(path: string) {
  const times: number[] = []
  let text = ''
  for (let round = 0; round <= Number(flags.rounds); round += 1) {
    const before = process.cpuUsage()
    const seen = await ann.get(path)
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
    if (seen.status !== 200) throw new Error(`${path} returned ${seen.status}`)
    text = seen.text
  }
  const [first = 0, ...rest] = times
  const sorted = rest.toSorted((a, b) => a - b)
  return { first, median: sorted[sorted.length >> 1] ?? 0, slowest: sorted.at(-1) ?? 0, text }
}
