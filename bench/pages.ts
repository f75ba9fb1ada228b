import { parseArgs } from 'node:util'
import { allowSignIn, visitor } from '../test/support/dashboard.ts'
import { heavyYears } from '../test/support/heavy-year.ts'
import { MAX_PAGE_BYTES, MAX_PAGE_NODES, heavyPages, nodesOf } from '../test/support/page-budgets.ts'
import { account } from '../test/support/records.ts'
import { startService, unlimited } from '../test/support/service.ts'

/**
 * Measures each page of the dashboard for an account with 20,000 training sessions, 250,000 segments and 2,000 lock sessions, and
 * fails if one is too large or takes too long. The time is that of the processor, of the client in the same process, too, which
 * is measured with an asset and taken off. With TEST_POSTGRES_URL it measures on that server instead of on SQLite.
 */
const { values: flags } = parseArgs({ options: { rounds: { type: 'string', default: '21' } } })
const MAX_CPU_MS = 20

const now = Date.now()
await using service = await startService([account(1, 'ann'), ...heavyYears(1, now)], unlimited)
await allowSignIn(service, 'ann')
const ann = visitor(service.url)
await ann.signIn('ann')

const client = (await measure('/assets/favicon.svg')).median
let isOver = false
console.log('| Page | first | median | slowest | size | elements |')
console.log('|---|---:|---:|---:|---:|---:|')
for (const path of heavyPages) {
  const { first, median, slowest, text } = await measure(path)
  const [cpu, bytes, nodes] = [Math.max(0, median - client), Buffer.byteLength(text), nodesOf(text)]
  isOver ||= cpu > MAX_CPU_MS || bytes > MAX_PAGE_BYTES || nodes > MAX_PAGE_NODES
  const ms = (value: number) => `${Math.max(0, value - client).toFixed(1)} ms`
  console.log(
    `| \`${path}\` | ${ms(first)} | ${ms(median)} | ${ms(slowest)} | ${(bytes / 1024).toFixed(1)} KB | ${nodes} |`,
  )
}
if (isOver) process.exitCode = 1

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
