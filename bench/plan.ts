import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeReadLog } from '../src/accounts/read-log.ts'
import { makeKeyUsage } from '../src/accounts/key-usage.ts'
import { seeded } from '../src/demo/random.ts'
import { open } from '../src/store/index.ts'
import { type DataSize, fill, type LoadRequest } from './data.ts'
import { poll, quantile } from './poll.ts'
import { cpuOf, memoryOf, Programs, type Running } from './processes.ts'

/**
 * Checks the plan of bench/README.md: measures what each kind of request costs on a small store, predicts from it what a mix of
 * them costs on a large one, and at which rate, and compares that with the load itself.
 */
const { values: flags } = parseArgs({
  options: {
    accounts: { type: 'string', default: '1000000' },
    /** The accounts of the store on which costs are measured. */
    few: { type: 'string', default: '40000' },
    sessions: { type: 'string', default: '1' },
    templates: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '150' },
    /** How long to measure each kind of request. */
    costSeconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    /** How much of one core the service may take; the rate of requests follows from it. */
    share: { type: 'string', default: '0.5' },
    /** Requests in a second, whatever share of a core they take. */
    rate: { type: 'string' },
    /** By how much a measured figure may exceed the predicted one. */
    factor: { type: 'string', default: '1.5' },
    /** A folder for the stores; those that exist there are reused. */
    keep: { type: 'string' },
  },
})

const STATUS = '/api/v1/status'
const TEMPLATES = '/api/v1/lkbx/templates'

/** What a client of an account asks in an hour: the assumption of the plan. */
const KINDS: readonly Kind[] = [
  { name: 'status, not modified', path: STATUS, weight: 57 },
  { name: 'status', path: STATUS, weight: 3 },
  { name: 'S8 page of templates, not modified', path: TEMPLATES, weight: 6 },
  { name: 'S2 page of templates', path: TEMPLATES, weight: 2 },
  { name: 'S5 page of 20 sessions', path: '/api/v1/dtt/sessions?limit=20', weight: 2 },
  { name: 'S1 one session', path: '/api/v1/dtt/sessions/', weight: 2 },
]

interface Kind {
  readonly name: string
  /** An id of the account follows if it ends with a slash. */
  readonly path: string
  readonly weight: number
}
const REQUESTS_AN_HOUR = KINDS.reduce((sum, { weight }) => sum + weight, 0)

/** Rows that a request adds to the log of reads, on average: a status reads both areas. */
const LOG_ROWS = KINDS.reduce((sum, { path, weight }) => sum + weight * (path === STATUS ? 2 : 1), 0) / REQUESTS_AN_HOUR

/** How many accounts send validators; to learn those of more would take long. */
const KNOWN_ACCOUNTS = 50_000

/** Records that an account gets in a day. */
const RECORDS_A_DAY = 2

/** The bound that the docs state for a process. */
const MEMORY_MB = 200

interface Accounts {
  readonly url: string
  readonly size: DataSize
  readonly tokens: readonly Holder[]
}

type Holder = readonly [id: number, token: string]

/** Microseconds of CPU, all threads of the process together. */
interface Costs {
  /** Of a request whose API key and rows are not in memory. */
  readonly requests: ReadonlyMap<Kind, number>
  /** Of noting when an API key was used last. */
  readonly usage: number
  /** Of a row of the log of reads. */
  readonly logRow: number
}

using programs = new Programs()
const folder = flags.keep ?? programs.folder
mkdirSync(folder, { recursive: true })
const random = seeded(Date.now())
await checkPlan()

async function checkPlan() {
  const [few, many] = [await accountsOf('few', Number(flags.few)), await accountsOf('many', Number(flags.accounts))]
  const costs = { ...(await measureWrites(few)), requests: await measureRequests(few) }
  const writes = costs.usage + costs.logRow * LOG_ROWS
  const reads = KINDS.reduce((sum, kind) => sum + (costs.requests.get(kind) ?? 0) * kind.weight, 0)
  const predicted = reads / REQUESTS_AN_HOUR + writes
  const rate = flags.rate === undefined ? (Number(flags.share) * 1e6) / predicted : Number(flags.rate)
  const share = ((rate * predicted) / 1e6).toFixed(2)
  const carried = (rate * 3600) / REQUESTS_AN_HOUR
  const commits = Math.ceil((carried * RECORDS_A_DAY) / 1440)
  print('| Cost | CPU µs |\n| --- | ---: |')
  for (const [{ name }, cost] of costs.requests) print(`| ${name} | ${cost.toFixed(1)} |`)
  print(
    `| last use of an API key | ${costs.usage.toFixed(1)} |\n| row of the log of reads | ${costs.logRow.toFixed(1)} |`,
  )
  print(
    `\nPlan: ${share} of a core for ${rate.toFixed(0)} requests a second, ${carried.toFixed(0)} accounts with ` +
      `${REQUESTS_AN_HOUR} requests an hour; ${commits} commits a minute meanwhile\n`,
  )
  const { polled, cpu, memory } = await runMix(many, rate, commits)
  const measured = (cpu * 1e6) / polled.requests
  const refused = polled.requests - (polled.statuses.get(200) ?? 0) - (polled.statuses.get(304) ?? 0)
  const ms = (part: number) => quantile(polled.latencies, part).toFixed(1)
  print('| Figure | predicted | measured |\n| --- | ---: | ---: |')
  print(`| CPU µs of a request | ${predicted.toFixed(1)} | ${measured.toFixed(1)} |`)
  print(`| requests a second | ${rate.toFixed(0)} | ${(polled.requests / polled.seconds).toFixed(0)} |`)
  print(`| part of a core | ${share} | ${(cpu / polled.seconds).toFixed(2)} |`)
  print(`| peak MB | ${MEMORY_MB} | ${memory.toFixed(0)} |\n| refused | 0 | ${refused} |`)
  print(
    `\nLatency: ${ms(0.5)} ms in the middle, ${ms(0.99)} at the 99th percentile, ${ms(0.999)} at the 99.9th, ${ms(1)} at most`,
  )
  const factor = Number(flags.factor)
  const ratio = Math.max(measured / predicted, predicted / measured)
  if (ratio > factor || memory > MEMORY_MB * factor || refused > 0) {
    print(`the plan is wrong by more than a factor of ${flags.factor}`)
    process.exitCode = 1
  }
}

/** A store with accounts, each with an API key; filled unless it is there. */
async function accountsOf(name: string, accounts: number): Promise<Accounts> {
  const file = join(folder, `${name}.db`)
  const size = { accounts, sessions: Number(flags.sessions), templates: Number(flags.templates) }
  const kept = join(folder, `${name}.json`)
  if (!existsSync(kept)) {
    const made = await fill(`sqlite:${file}`, size, accounts)
    writeFileSync(kept, JSON.stringify([...made].slice(0, accounts)), { mode: 0o600 })
    print(`${name}: ${accounts} accounts, ${(statSync(file).size / 1e9).toFixed(2)} GB\n`)
  }
  // This function wrote it.
  const tokens = JSON.parse(readFileSync(kept, 'utf8')) as [number, string][]
  return { url: `sqlite:${file}`, size, tokens }
}

/** What a request writes later, measured in this process. */
async function measureWrites({ url, tokens }: Accounts): Promise<Pick<Costs, 'usage' | 'logRow'>> {
  const store = await open(url, { busyTimeoutMs: 60_000, writerThread: true })
  const costOf = async (work: () => Promise<void>) => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / tokens.length
  }
  const onFailure = (error: unknown) => {
    throw error
  }
  const usage = await costOf(async () => {
    const uses = makeKeyUsage(store, onFailure)
    for (const index of tokens.keys()) uses.recordUse(index + 1, Date.now())
    await uses.close()
  })
  const logRow = await costOf(async () => {
    const log = makeReadLog(store, { days: 1, onFailure, maxEntries: tokens.length })
    for (const [accountId] of tokens) {
      const reader = { accountId, via: 'token', keyId: accountId, keyName: 'bench' } as const
      log.record(reader, accountId, 'dtt', 'list', Date.now())
    }
    await log.close()
  })
  await store.close()
  return { usage, logRow }
}

/** The accounts take turns, so that nothing that a request needs is still in memory from the last one. */
async function measureRequests(accounts: Accounts): Promise<Costs['requests']> {
  const service = await programs.service(accounts.url, [], { LOCKSTEP_KEEP_ALIVE: '65' })
  const validators = await learn(service, accounts, accounts.tokens.length)
  const costs = new Map<Kind, number>()
  for (const kind of KINDS) {
    const requests = inTurns(accounts, holder => requestOf(kind, holder, accounts.size, validators))
    const before = cpuOf(service.process.pid)
    // At half load, few requests are in progress at once: each has to wake the service, which a full queue would save.
    const polled = await poll(service.url, requests, { seconds: Number(flags.costSeconds), connections: 2 })
    costs.set(kind, ((cpuOf(service.process.pid) - before) * 1e6) / polled.requests)
  }
  await programs.stop(service.process)
  return costs
}

/** Sends the mix to a service while records are written, and returns what it took. */
async function runMix(accounts: Accounts, rate: number, commits: number) {
  const { url, size } = accounts
  const service = await programs.service(url, [], { LOCKSTEP_KEEP_ALIVE: '65' })
  const validators = await learn(service, accounts, Math.min(accounts.tokens.length, KNOWN_ACCOUNTS))
  const writer = await programs.worker('commits.ts', url, ...[commits, size.accounts, size.templates].map(String))
  const before = cpuOf(service.process.pid)
  const options = { seconds: Number(flags.seconds), connections: Number(flags.connections), rate }
  const polled = await poll(service.url, atRandom(accounts, validators), options)
  const cpu = cpuOf(service.process.pid) - before
  const memory = memoryOf(service.process.pid)
  for (const child of [writer, service.process]) await programs.stop(child)
  return { polled, cpu, memory }
}

/** The validators of accounts, by path and API key. */
type Validators = ReadonlyMap<string, ReadonlyMap<string, string>>

async function learn({ url }: Running, accounts: Accounts, count: number): Promise<Validators> {
  const learned = new Map<string, ReadonlyMap<string, string>>()
  for (const path of [STATUS, TEMPLATES]) {
    const etags = new Map<string, string>()
    const first = { ...accounts, tokens: accounts.tokens.slice(0, count) }
    const requests = inTurns(first, ([, token]) => ({ path, token, headers: bearer(token) })).take(count)
    await poll(url, requests, { connections: 16, onResponse: ({ token }, etag) => etags.set(token, etag) })
    learned.set(path, etags)
  }
  return learned
}

function* inTurns<Request>(
  { tokens }: Accounts,
  requestFor: (holder: Holder) => Request,
): Generator<Request, undefined> {
  for (;;) for (const holder of tokens) yield requestFor(holder)
}

function* atRandom({ tokens, size }: Accounts, validators: Validators): Generator<LoadRequest, undefined> {
  const known = validators.get(STATUS)?.size ?? 0
  const byWeight = KINDS.flatMap(kind => Array.from({ length: kind.weight }, () => kind))
  for (;;) {
    const kind = byWeight[random.whole(0, byWeight.length - 1)]
    if (kind === undefined) return
    const holder = tokens[random.whole(0, (isConditional(kind) ? known : tokens.length) - 1)]
    if (holder !== undefined) yield requestOf(kind, holder, size, validators)
  }
}

function requestOf(kind: Kind, [id, token]: Holder, { sessions }: DataSize, validators: Validators): LoadRequest {
  const path = kind.path.endsWith('/') ? `${kind.path}${(id - 1) * sessions + random.whole(1, sessions)}` : kind.path
  const etag = isConditional(kind) ? validators.get(path)?.get(token) : undefined
  return { path, headers: { ...bearer(token), ...(etag === undefined ? {} : { 'If-None-Match': etag }) } }
}

function isConditional({ name }: Kind): boolean {
  return name.endsWith('not modified')
}

function bearer(token: string) {
  return { Authorization: `Bearer ${token}` }
}

function print(text: string) {
  process.stdout.write(`${text}\n`)
}
