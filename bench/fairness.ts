import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { makeFolder, run } from '../test/support/command.ts'
import { signInAs } from '../test/support/dashboard.ts'
import { BUSY, type Caller, Callers, history, neighbours, OTHERS, quantile, Turns } from '../test/support/neighbours.ts'
import { startService, unlimited } from '../test/support/service.ts'
import { serve } from '../test/support/serving.ts'
import { cookiesOf, decide, settledPage, upload } from '../test/support/uploads.ts'

/**
 * `npm run bench:fairness`: what others wait for while two callers page deep and ask for statistics of years, and during a pull, an
 * export, an upload and a backup. The service is this process, and the requests come from a thread of it. `work` is the time of the
 * processor while a request waits, which other programs on the machine change little; on PostgreSQL it includes that of the server.
 * `TEST_POSTGRES_URL` names a PostgreSQL server to measure instead of SQLite.
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
/** Whose history is pulled. */
const PULLED = 21

await using folder = await makeFolder()
const secret = { LOCKSTEP_SECRET_FILE: folder.file('secret') }
await using service = await startService([...neighbours(rows, Date.now())], {
  ...unlimited,
  LOCKSTEP_CONCURRENCY_LIMIT: '0',
  ...secret,
})
await using origin = await startService([...history(PULLED, rows, Date.now())])
await using source = await serve(origin.databaseUrl)
const pullSettings = {
  LOCKSTEP_SOURCE_URL: source.url,
  LOCKSTEP_SOURCE_TOKEN: await origin.token(`caller-${PULLED}`),
  LOCKSTEP_PULL_RATE: '0',
}
const callers = async (ids: readonly number[]): Promise<Caller[]> =>
  Promise.all(ids.map(async account => ({ account, token: await service.token(`caller-${account}`) })))
const [busyCallers, others] = [await callers(BUSY), await callers(OTHERS)]
const owner = await signInAs(service, `caller-${BUSY[0]}`)
await using thread = new Callers()
await using reader = new Callers()

console.log(
  '| While | p50 ms | p99 ms | work p50 | work p99 | longest turn | load |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
)
await measure('nobody else is there')
await measure('two callers are busy', { busy: busyCallers })
await measure('records are pulled', {}, () =>
  command(['pull', '--full', '--database', service.databaseUrl], pullSettings),
)
await measure('everything of an account is exported', {}, () =>
  reader.download({ url: `${service.url}/settings/export`, headers: { Cookie: cookiesOf(owner) } }),
)
const { text } = await owner.get('/settings/export')
await measure('a file is uploaded, checked and stored', {}, async () => {
  await upload(service.url, owner, { 'all.ndjson': text })
  await settledPage(owner)
  await decide(owner, 'store')
  await settledPage(owner)
})
await measure('a backup is made', {}, () =>
  command(['backup', folder.file(`${Date.now()}.backup`), '--database', service.databaseUrl]),
)

async function command(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { code, stderr } = await run(args, { cwd: folder.path, env })
  if (code !== 0) throw new Error(stderr)
}

/** Measures without and with limits, while the work is done again and again. */
async function measure(what: string, { busy = [] }: { busy?: readonly Caller[] } = {}, work?: () => Promise<unknown>) {
  const end = new AbortController()
  const repeat = async () => {
    await work?.()
    if (work !== undefined && !end.signal.aborted) await repeat()
  }
  const repeated = repeat()
  await measureOn(service.url, what, busy, requests)
  {
    // Nobody has reached a limit there yet.
    await using limited = await startService([], { LOCKSTEP_OVERLOAD_LAG: '0', ...secret }, service)
    // Fewer than the limits allow.
    await measureOn(limited.url, `${what}, within the limits`, busy, Math.min(requests, 400 * others.length))
  }
  end.abort()
  await repeated
}

/** The processor time is measured in a second round, because that keeps a core busy. */
async function measureOn(url: string, what: string, busy: readonly Caller[], requests: number) {
  const order = { url, busy, others, rows, requests, connections, clock: new Int32Array(new SharedArrayBuffer(4)) }
  const { waits, statuses } = await thread.send(order)
  using turns = new Turns()
  const { work } = await thread.send({ ...order, requests: requests / 4, clock: turns.clock })
  const [longest = 0] = turns.take().slice(-1)
  const figures = [quantile(waits, 0.5), quantile(waits, 0.99), quantile(work, 0.5), quantile(work, 0.99), longest]
  console.log(`| ${[what, ...[...figures, loadavg()[0] ?? 0].map(value => value.toFixed(1))].join(' | ')} |`)
  if (Object.keys(statuses).join() !== '200') console.log(statuses)
}
