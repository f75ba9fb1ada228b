import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { COMMITS_PER_MINUTE, type DataSize, fill, type LoadRequest, requestsByShape } from './data.ts'
import { runLoad, type Load, loader } from './load.ts'
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
  '| shape | candidate | requests/s | of the floor | CPU µs/request | floor CPU/CPU | p50 ms | p99 ms | peak MB |\n' +
  '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'

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

  const tables: string[] = []
  for (const [name, url] of stores) {
    const all = requestsByShape(tokensOf.get(name) ?? new Map(), size, Math.max(2000, Number(flags.tokens)))
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
      tables.push(await measureShape(shape, candidates))
    }
  }
  process.stdout.write(`\n${HEADING}\n${tables.join('\n')}\n`)
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

/** Measures all candidates of a shape in turns and returns the rows of the table. */
async function measureShape(shape: Shape, candidates: readonly Candidate[]): Promise<string> {
  const rounds = new Map<string, Measured[]>()
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
  const floor = rounds.get('floor') ?? []
  const rate = ({ requests, seconds }: Measured) => requests / seconds
  const perRequest = ({ cpu, requests }: Measured) => (cpu / requests) * 1_000_000
  return [...rounds]
    .map(([name, all]) => {
      const of = (figure: (measured: Measured) => number) => median(all.map(figure))
      const ofFloor = (figure: (measured: Measured) => number) => median(floor.map(figure))
      return `| ${[
        shape.name,
        name,
        of(rate).toFixed(0),
        (of(rate) / ofFloor(rate)).toFixed(2),
        of(perRequest).toFixed(1),
        (ofFloor(perRequest) / of(perRequest)).toFixed(2),
        of(({ p50 }) => p50).toFixed(2),
        of(({ p99 }) => p99).toFixed(2),
        of(({ memory }) => memory).toFixed(0),
      ].join(' | ')} |`
    })
    .join('\n')
}

async function measure(candidate: Candidate, shape: Shape): Promise<Measured> {
  const { url, process: child } = await candidate.start(shape)
  const settings = { connections: Number(flags.connections), folder }
  const writer = shape.changing === undefined ? undefined : await startCommits(shape.changing)
  try {
    await runLoad(url, shape.requests, shape.status, { ...settings, seconds: 1 })
    const before = cpuOf(child.pid)
    const load = await runLoad(url, shape.requests, shape.status, { ...settings, seconds: Number(flags.seconds) })
    return { ...load, cpu: cpuOf(child.pid) - before, memory: memoryOf(child.pid) }
  } finally {
    for (const one of [child, ...(writer === undefined ? [] : [writer])]) await programs.stop(one)
  }
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
  for (const { path, headers } of list) {
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
