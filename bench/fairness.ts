import { parseArgs } from 'node:util'
import { makeFolder, run } from '../test/support/command.ts'
import { signInAs } from '../test/support/dashboard.ts'
import { BUSY, type Caller, Callers, neighbours, OTHERS, quantile, Turns } from '../test/support/neighbours.ts'
import { startService, unlimited } from '../test/support/service.ts'
import { decide, settledPage, upload } from '../test/support/uploads.ts'

/**
 * `npm run bench:fairness`: what others wait for while two callers page deep and ask for statistics of years, and during an export, an
 * upload and a backup. The service is this process, and the requests come from a thread of it. `work` is the processor time of the service
 * while a request waits, which other programs on the machine change little. `TEST_POSTGRES_URL` names a PostgreSQL server to measure
 * instead of SQLite. For a pull, see test/pull/neighbours.slow.test.ts.
 */
const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '20000' },
    requests: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '16' },
  },
})
const [rows, requests, connections] = [flags.rows, flags.requests, flags.connections].map(Number) as [
  number,
  number,
  number,
]
const NO_LIMITS = { ...unlimited, LOCKSTEP_CONCURRENCY_LIMIT: '0' }

await using folder = await makeFolder()
const secret = { LOCKSTEP_SECRET_FILE: folder.file('secret') }
await using service = await startService([...neighbours(rows, Date.now())], { ...NO_LIMITS, ...secret })
await using limited = await startService([], { LOCKSTEP_OVERLOAD_LAG: '0', ...secret }, service)
const callers = async (ids: readonly number[]): Promise<Caller[]> =>
  Promise.all(ids.map(async account => ({ account, token: await service.token(`caller-${account}`) })))
const [busy, others] = [await callers(BUSY), await callers(OTHERS)]
const owner = await signInAs(service, `caller-${BUSY[0]}`)
await using thread = new Callers()
using turns = new Turns()

console.log(
  '| While | p50 ms | p99 ms | work p50 | work p99 | longest turn |\n| --- | ---: | ---: | ---: | ---: | ---: |',
)
await measure('nobody else is there')
await measure('two callers are busy', { busy })
await measure('two callers are busy, within the limits', { busy, url: limited.url })
await measure('everything of an account is exported', {}, async () => void (await owner.get('/settings/export')))
const { text } = await owner.get('/settings/export')
await measure('a file is uploaded, checked and stored', {}, async () => {
  await upload(service.url, owner, { 'all.ndjson': text })
  await settledPage(owner)
  await decide(owner, 'store')
  await settledPage(owner)
})
await measure('a backup is made', {}, async () => {
  await run(['backup', folder.file(`${Date.now()}.backup`), '--database', service.databaseUrl])
})

/** Measures while the work is done again and again. */
async function measure(
  what: string,
  { busy = [], url = service.url }: { readonly busy?: readonly Caller[]; readonly url?: string } = {},
  work?: () => Promise<void>,
) {
  const end = new AbortController()
  const repeat = async () => {
    await work?.()
    if (work !== undefined && !end.signal.aborted) await repeat()
  }
  const repeated = repeat()
  turns.take()
  // Fewer than the limits allow.
  const count = url === limited.url ? Math.min(requests, 500 * others.length) : requests
  const {
    waits,
    work: works,
    statuses,
  } = await thread.send({
    url,
    busy,
    others,
    rows,
    requests: count,
    connections,
    clock: turns.clock,
  })
  const [longest = 0] = turns.take().slice(-1)
  end.abort()
  await repeated
  const figures = [quantile(waits, 0.5), quantile(waits, 0.99), quantile(works, 0.5), quantile(works, 0.99), longest]
  console.log(`| ${what} | ${figures.map(value => value.toFixed(1)).join(' | ')} |`)
  if (Object.keys(statuses).join() !== '200') console.log(statuses)
}
