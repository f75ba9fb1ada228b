import { type ChildProcess, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { COMMITS_PER_MINUTE, type DataSize, fill, type LoadRequest, requestsByShape } from './data.ts'
import { runLoad, type Load, loader } from './load.ts'
import { poll, quantile } from './poll.ts'
import { cpuOf, median, memoryOf, Programs, type Running } from './processes.ts'

/**
 * Compares the service with the floor, a bare server that sends the same bytes. The service has its defaults, but limits
 * that are never reached. Candidates take turns in rounds; the medians are printed. See docs/performance.md.
 */
const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    accounts: { type: 'string', default: '1000' },
    sessions: { type: 'string', default: '20' },
    templates: { type: 'string', default: '50' },
    /** How many accounts have an API key and send requests, in a random order. */
    tokens: { type: 'string', default: '1000' },
    /** An empty PostgreSQL database to measure as well. */
    postgres: { type: 'string' },
    /** Shapes whose name contains this. */
    only: { type: 'string', default: '' },
    workers: { type: 'boolean', default: true },
    /** Measures, instead of workers, the service without each of its defaults. */
    defaults: { type: 'boolean', default: false },
    /** Measures, instead of workers, another copy of the program, in this folder; its schema must be the same. */
    against: { type: 'string' },
    /** A folder for the SQLite store; a store that exists there is reused. */
    keep: { type: 'string' },
  },
  allowNegative: true,
})

interface Candidate {
  readonly name: string
  readonly start: (shape: Shape) => Promise<Running>
}

interface Shape {
  readonly name: string
  readonly status: number
  readonly requests: readonly LoadRequest[]
  /** The database that changes meanwhile. */
  readonly changing: string | undefined
}

interface Measured extends Load {
  readonly cpu: number
  readonly memory: number
  /** Milliseconds at half of this load, from when a request was due, ascending. */
  readonly latencies: Float64Array
}

/** What docs/performance.md says of a request. */
interface Summary {
  readonly shape: string
  readonly candidate: string
  readonly share: string
  readonly shareByCpu: string
  readonly cpu: string
  readonly latencies: string
}

const size: DataSize = {
  accounts: Number(flags.accounts),
  sessions: Number(flags.sessions),
  templates: Number(flags.templates),
}
using programs = new Programs()
const { folder } = programs

/** Defaults that can be switched off. */
const defaults: readonly (readonly [name: string, settings: Readonly<Record<string, string>>])[] = [
  ['access log', { LOCKSTEP_ACCESS_LOG: 'off' }],
  ['limits', { LOCKSTEP_RATE_LIMIT: '0', LOCKSTEP_CONCURRENCY_LIMIT: '0' }],
  ['overload protection', { LOCKSTEP_OVERLOAD_LAG: '0' }],
  [
    'any of them',
    {
      LOCKSTEP_ACCESS_LOG: 'off',
      LOCKSTEP_RATE_LIMIT: '0',
      LOCKSTEP_CONCURRENCY_LIMIT: '0',
      LOCKSTEP_OVERLOAD_LAG: '0',
    },
  ],
]

const HEADING =
  '| shape | candidate | requests/s | of the floor | CPU µs/request | floor CPU/CPU | p50 ms | p99 ms | p99.9 ms | peak MB |\n' +
  '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'

const DOCS_HEADING =
  '| Request | Engine | Share of the baseline (hot) | by CPU (hot) | CPU µs (hot) | p50, p99 ms |\n' +
  '| --- | --- | ---: | ---: | ---: | ---: |'

/** What this program can send without being late itself. */
const MAX_POLLS_PER_SECOND = 10_000

/** At random over all records and API keys of the default size, so that no cache of a usual size holds what is asked for again. */
const RANDOM_REQUESTS = 40_000

const HOT_REQUESTS = 1000
const HOT = ', hot'

/** Each validator is read once before. */
const MAX_VALIDATORS = 4000

// Away from the core of the service.
spawnSync('taskset', ['-cp', '1', String(process.pid)])
await measureAll()

async function measureAll() {
  process.stdout.write(
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
      `Node ${process.version}, load by ${loader}; ${size.accounts} accounts\n`,
  )
  const stores: [name: string, url: string][] = [['SQLite', `sqlite:${join(flags.keep ?? folder, 'bench.db')}`]]
  if (flags.postgres !== undefined) stores.push(['PostgreSQL', flags.postgres])
  const tokensOf = new Map<string, ReadonlyMap<number, string>>()
  for (const [name, url] of stores) tokensOf.set(name, await filled(name, url))

  process.stdout.write(`\n${HEADING}\n`)
  const summaries: Summary[] = []
  for (const [name, url] of stores) {
    const all = withHot(requestsByShape(tokensOf.get(name) ?? new Map(), size, RANDOM_REQUESTS))
    const candidates: Candidate[] = [
      { name: 'floor', start: shape => programs.server('floor.ts', responseFile(shape)) },
      { name, start: () => programs.service(url, []) },
      ...(flags.defaults
        ? defaults.map(([without, settings]) => ({
            name: `${name} without ${without}`,
            start: () => programs.service(url, [], settings),
          }))
        : flags.against !== undefined
          ? [{ name: `${name}, ${flags.against}`, start: () => programs.service(url, [], {}, flags.against) }]
          : flags.workers
            ? [{ name: `${name}, 2 workers`, start: () => programs.service(url, ['--workers', '2']) }]
            : []),
    ]
    for (const [shapeName, list] of Object.entries(all)) {
      if (!shapeName.includes(flags.only)) continue
      const status = shapeName.startsWith('S3') ? 401 : /^S[48]/.test(shapeName) ? 304 : 200
      const requests = await withValidators(url, list, status)
      const shape = { name: shapeName, status, requests, changing: shapeName.startsWith('S9') ? url : undefined }
      await recordResponse(url, shape)
      const rounds = await measureShape(shape, candidates)
      process.stdout.write(`${rowsOf(shape.name, rounds)}\n`)
      summaries.push(summaryOf(shape.name, name, rounds))
    }
  }
  process.stdout.write(`\nFor docs/performance.md:\n\n${DOCS_HEADING}\n${docsRows(summaries).join('\n')}\n`)
}

/** The same shapes also with a few requests that are repeated. */
function withHot(all: Readonly<Record<string, readonly LoadRequest[]>>): Record<string, readonly LoadRequest[]> {
  const hot = Object.entries(all).filter(([name]) => /^S[125]/.test(name))
  return { ...all, ...Object.fromEntries(hot.map(([name, list]) => [name + HOT, list.slice(0, HOT_REQUESTS)])) }
}

/** The tokens of a store; fills it unless it is reused. */
async function filled(name: string, url: string): Promise<ReadonlyMap<number, string>> {
  const kept = flags.keep !== undefined && name === 'SQLite' ? join(flags.keep, 'tokens.json') : undefined
  // This function wrote it.
  if (kept !== undefined && existsSync(kept))
    return new Map(JSON.parse(readFileSync(kept, 'utf8')) as [number, string][])
  const tokens = await fill(url, size, Math.min(Number(flags.tokens), size.accounts))
  if (kept !== undefined) writeFileSync(kept, JSON.stringify([...tokens]), { mode: 0o600 })
  return tokens
}

type Rounds = ReadonlyMap<string, readonly Measured[]>

/** Measures all candidates of a shape in turns. */
async function measureShape(shape: Shape, candidates: readonly Candidate[]): Promise<Rounds> {
  const rounds = new Map<string, readonly Measured[]>()
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    for (const candidate of candidates) {
      const measured = await measure(candidate, shape)
      if (measured.unexpected > 0) {
        process.stdout.write(`${shape.name}, ${candidate.name}: void, ${measured.unexpected} unexpected responses\n`)
        process.exitCode = 1
      }
      rounds.set(candidate.name, [...(rounds.get(candidate.name) ?? []), measured])
      process.stderr.write('.')
    }
  }
  return rounds
}

/** The medians of the rounds. */
function mediansOf(rounds: Rounds, name: string) {
  const of = (figure: (measured: Measured) => number) => median((rounds.get(name) ?? []).map(figure))
  return {
    rate: of(({ requests, seconds }) => requests / seconds),
    cpu: of(({ cpu, requests }) => (cpu / requests) * 1_000_000),
    memory: of(({ memory }) => memory),
    latency: (part: number) => of(({ latencies }) => quantile(latencies, part)),
  }
}

function rowsOf(shape: string, rounds: Rounds): string {
  const floor = mediansOf(rounds, 'floor')
  return [...rounds.keys()]
    .map(name => {
      const { rate, cpu, memory, latency } = mediansOf(rounds, name)
      const shares = [rate.toFixed(0), (rate / floor.rate).toFixed(2), cpu.toFixed(1), (floor.cpu / cpu).toFixed(2)]
      const latencies = [0.5, 0.99, 0.999].map(part => latency(part).toFixed(2))
      return `| ${[shape, name, ...shares, ...latencies, memory.toFixed(0)].join(' | ')} |`
    })
    .join('\n')
}

function summaryOf(shape: string, candidate: string, rounds: Rounds): Summary {
  const [floor, { rate, cpu, latency }] = [mediansOf(rounds, 'floor'), mediansOf(rounds, candidate)]
  return {
    shape,
    candidate,
    share: (rate / floor.rate).toFixed(2),
    shareByCpu: (floor.cpu / cpu).toFixed(2),
    cpu: cpu.toFixed(1),
    latencies: `${latency(0.5).toFixed(1)}, ${latency(0.99).toFixed(1)}`,
  }
}

/** One row for each request and engine; what was measured hot stands in brackets. */
function docsRows(summaries: readonly Summary[]): string[] {
  const isHot = ({ shape }: Summary) => shape.endsWith(HOT)
  return summaries
    .filter(summary => !isHot(summary))
    .toSorted((a, b) => (a.shape < b.shape ? -1 : a.shape > b.shape ? 1 : 0))
    .map(summary => {
      const { shape, candidate, latencies } = summary
      const hot = summaries.find(other => other.shape === shape + HOT && other.candidate === candidate)
      const figures = (['share', 'shareByCpu', 'cpu'] as const).map(name =>
        hot === undefined ? summary[name] : `${summary[name]} (${hot[name]})`,
      )
      return `| ${[shape, candidate, ...figures, latencies].join(' | ')} |`
    })
}

async function measure(candidate: Candidate, shape: Shape): Promise<Measured> {
  const { url, process: child } = await candidate.start(shape)
  const settings = { connections: Number(flags.connections), folder }
  const writer = shape.changing === undefined ? undefined : await startCommits(shape.changing)
  try {
    await runLoad(url, shape.requests, shape.status, { ...settings, seconds: 1 })
    const before = cpuOf(child.pid)
    const seconds = Number(flags.seconds)
    const load = await runLoad(url, shape.requests, shape.status, { ...settings, seconds })
    const cpu = cpuOf(child.pid) - before
    const rate = Math.min(load.requests / load.seconds / 2, MAX_POLLS_PER_SECOND)
    const { latencies } = await poll(url, repeat(shape.requests), {
      seconds,
      rate,
      connections: 2 * settings.connections,
    })
    return { ...load, cpu, latencies, memory: memoryOf(child.pid) }
  } finally {
    for (const one of [child, ...(writer === undefined ? [] : [writer])]) await programs.stop(one)
  }
}

function* repeat<Item>(items: readonly Item[]): Generator<Item, undefined> {
  for (;;) yield* items
}

/** Starts a program that changes records. */
function startCommits(database: string): Promise<ChildProcess> {
  return programs.worker('commits.ts', database, ...[COMMITS_PER_MINUTE, size.accounts, size.templates].map(String))
}

/** The responses of a shape, for the floor to send. */
async function recordResponse(database: string, shape: Shape) {
  const { url, process: child } = await programs.service(database)
  const [request] = shape.requests
  const response = await fetch(url + (request?.path ?? ''), { headers: { ...request?.headers } })
  const body = await response.text()
  if (response.status !== shape.status) throw new Error(`${shape.name} returned ${response.status}`)
  const headers = [...response.headers].filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name))
  writeFileSync(
    responseFile(shape),
    JSON.stringify({ status: response.status, headers: headers.flat(), body: body === '' ? null : body }),
  )
  await programs.stop(child)
}

/** The same requests with the validators of their responses, so that the response is 304. */
async function withValidators(
  database: string,
  list: readonly LoadRequest[],
  status: number,
): Promise<readonly LoadRequest[]> {
  if (status !== 304) return list
  const { url, process: child } = await programs.service(database)
  const all: LoadRequest[] = []
  for (const { path, headers } of list.slice(0, MAX_VALIDATORS)) {
    const response = await fetch(url + path, { headers })
    await response.arrayBuffer()
    all.push({ path, headers: { ...headers, 'If-None-Match': response.headers.get('ETag') ?? '' } })
  }
  await programs.stop(child)
  return all
}

function responseFile({ name }: Shape): string {
  return join(folder, `${name.slice(0, 2)}.json`)
}
