import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { DAY_MS, HOUR_MS } from '../../src/contract/time.ts'
import { seeded } from '../../src/demo/random.ts'
import * as records from './records.ts'

/** What some callers wait for while others keep the service busy. This file is also the program of the thread that sends the requests. */

/** The two that ask for much, and the others. */
export const BUSY = [1, 2]
export const OTHERS = [11, 12, 13, 14]
const YEARS = 7

/** Accounts with `count` training sessions each over seven years and four times as many locks; the others have twenty. */
export function* neighbours(count: number, now: number): Generator<object> {
  for (const id of BUSY) yield* history(id, count, now)
  for (const id of OTHERS) yield* history(id, 20, now)
}

export function* history(id: number, count: number, now: number): Generator<object> {
  yield records.account(id, `caller-${id}`)
  const at = (n: number) =>
    new Date(Math.floor((now - ((n + 1) * YEARS * 365 * DAY_MS) / count) / 1000) * 1000).toISOString()
  for (let n = 0; n < count; n += 1) {
    const number = id * 1_000_000 + n
    const TrainerSegment = Array.from({ length: 12 }, (_, index) =>
      records.trainerSegment(number * 20 + index, { percentGrade: (n * 7 + index) % 101, order: index }),
    )
    yield records.trainingSession(number, id, { created_at: at(n), passed: n % 3 > 0, TrainerSegment })
    yield records.lockTemplate(number, id, { createdAt: at(n) })
  }
  for (let n = 0; n < 4 * count; n += 1) yield lock(id, n, now - (n + 1) * 3 * HOUR_MS)
}

/** A lock of two and a half hours with a break each half hour. */
function lock(owner: number, n: number, start: number): object {
  const id = owner * 1_000_000 + n
  const text = (halves: number) => new Date(Math.floor((start + (halves * HOUR_MS) / 2) / 1000) * 1000).toISOString()
  const LockSegment = [0, 1, 2, 3, 4, 5].map(half => {
    const kind = half === 0 ? 'start' : half === 5 ? 'unlocked' : half % 2 === 0 ? 'locked' : 'break'
    return records.lockSegment(id * 10 + half, kind, text(half), half < 5 && half % 2 === 0)
  })
  return records.lockSession(id, owner, { startDate: text(0), endDate: text(5), LockSegment })
}

export interface Caller {
  readonly token: string
  readonly account: number
}

export interface Order {
  readonly url: string
  readonly busy: readonly Caller[]
  readonly others: readonly Caller[]
  /** Rows of the longest list. */
  readonly rows: number
  /** How many requests the others send. */
  readonly requests: number
  /** How many connections each of the busy ones has. */
  readonly connections: number
  /** Where the processor time of the service is, in microseconds. */
  readonly clock: Int32Array
  /** Which of the heavy requests are sent; all if undefined. */
  readonly heavy?: number
}

export interface Download {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Waits {
  /** Milliseconds, ascending. */
  readonly waits: readonly number[]
  /** The processor time that the service took meanwhile, which is what they would wait for on a machine with no other work. */
  readonly work: readonly number[]
  readonly statuses: Readonly<Record<string, number>>
  readonly busy: Readonly<Record<string, number>>
}

/** The thread that sends requests, so that the turns of this one are the service's alone. */
export class Callers implements AsyncDisposable {
  readonly #worker = new Worker(import.meta.filename)

  async send(order: Order): Promise<Waits> {
    this.#worker.postMessage(order, [])
    const [result] = (await once(this.#worker, 'message')) as [Waits]
    return result
  }

  /** Reads a response to its end, and returns its status. Nothing else may be under way. */
  async download(order: Download): Promise<number> {
    this.#worker.postMessage(order, [])
    const [status] = (await once(this.#worker, 'message')) as [number]
    return status
  }

  async [Symbol.asyncDispose]() {
    await this.#worker.terminate()
  }
}

/** The processor time of each turn of the event loop, in milliseconds: on a busy machine it tells more than the time that passes. */
export class Turns implements Disposable {
  readonly clock = new Int32Array(new SharedArrayBuffer(4))
  #costs: number[] = []
  #before = process.threadCpuUsage()
  #next = setImmediate(() => this.#measure())

  #measure() {
    const used = process.threadCpuUsage(this.#before)
    this.#before = process.threadCpuUsage()
    this.#costs.push((used.user + used.system) / 1000)
    Atomics.add(this.clock, 0, used.user + used.system)
    this.#next = setImmediate(() => this.#measure())
  }

  /** Those since the last call, ascending. */
  take(): number[] {
    return ascending(this.#costs.splice(0))
  }

  [Symbol.dispose]() {
    clearImmediate(this.#next)
  }
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)

export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const random = seeded(1)
  const work = (order: Order | Download) => ('headers' in order ? download(order) : serveOrder(order, random))
  port.on('message', (order: Order | Download) => void work(order).then(result => port.postMessage(result)))
}

async function serveOrder(
  { url, busy, others, rows, requests, connections, clock, heavy }: Order,
  random: ReturnType<typeof seeded>,
): Promise<Waits> {
  const agent = new Agent({ keepAlive: true })
  let isOver = false
  const goesOn = () => !isOver
  const busyStatuses: Record<string, number> = {}
  const statuses: Record<string, number> = {}
  const load = busy.flatMap(({ token }) =>
    Array.from({ length: connections }, async () => {
      while (goesOn()) count(busyStatuses, await ask(url + heavyPath(rows, random, heavy), token, agent))
    }),
  )
  const waits: number[] = []
  const work: number[] = []
  await sleep(busy.length === 0 ? 0 : 300)
  await Promise.all(
    others.map(async ({ token, account }) => {
      for (let sent = 0; sent < requests / others.length; sent += 1) {
        const [start, before] = [performance.now(), Atomics.load(clock, 0)]
        count(statuses, await ask(url + lightPath(account, sent), token, agent))
        waits.push(performance.now() - start)
        work.push((Atomics.load(clock, 0) - before) / 1000)
        await sleep(10)
      }
    }),
  )
  isOver = true
  await Promise.all(load)
  agent.destroy()
  return { waits: ascending(waits), work: ascending(work), statuses, busy: busyStatuses }
}

/** On a connection of its own, as a service closes idle ones. */
function download({ url, headers }: Download): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers }, response => {
      response.on('error', reject).on('end', () => resolve(response.statusCode ?? 0))
      response.resume()
    })
    request.on('error', reject)
  })
}

function lightPath(account: number, sent: number): string {
  const paths = [
    `dtt/sessions/${account * 1_000_000 + (sent % 20)}`,
    'status',
    'lkbx/templates?limit=20',
    'dtt/sessions?limit=5',
  ]
  return `/api/v1/${paths[sent % paths.length]}`
}

const zones = Intl.supportedValuesOf('timeZone')

function heavyPath(rows: number, random: ReturnType<typeof seeded>, heavy?: number): string {
  const from = Date.now() - random.whole(400, YEARS * 365) * DAY_MS
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  const range = `from=${day(from)}&to=${day(from + 365 * DAY_MS)}&tz=${zones[random.whole(0, zones.length - 1)]}`
  const paths = [
    `dtt/sessions?limit=100&offset=${random.whole(0, rows)}`,
    `dtt/sessions?limit=100&passed=false&offset=${random.whole(0, rows / 3)}`,
    `lkbx/templates?limit=100&offset=${random.whole(0, rows)}`,
    `dtt/stats?bucket=day&${range}`,
    `lkbx/stats?bucket=day&${range}`,
    `dtt/stats?bucket=week&${range}`,
    `lkbx/stats?bucket=month&from=2000-01-01&to=2026-06-30`,
  ]
  return `/api/v1/${paths[heavy ?? random.whole(0, paths.length - 1)]}`
}

function count(statuses: Record<string, number>, status: string | number) {
  statuses[status] = (statuses[status] ?? 0) + 1
}

function ask(url: string, token: string, agent: Agent): Promise<number | string> {
  return new Promise(resolve => {
    get(url, { agent, headers: { Authorization: `Bearer ${token}` } }, response => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}
