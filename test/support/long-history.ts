import { readFileSync } from 'node:fs'
import { setPassword } from '../../src/accounts/passwords.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { PASSWORD, visitor } from './dashboard.ts'
import type { TestDatabase } from './databases.ts'
import { heavyYears } from './heavy-year.ts'
import { Callers, type Download } from './neighbours.ts'
import { account, trainingSession } from './records.ts'
import { ask, type Outcome, serve } from './serving.ts'
import { cookiesOf } from './uploads.ts'

/** The API keys of an account with 20,000 training sessions, which can sign in, and of another one with a single session. */
export interface LongKeys {
  readonly own: string
  readonly others: string
}

/** Fills a database with these accounts. */
export async function fillLong(database: TestDatabase): Promise<LongKeys> {
  const store = await open(database.url, { busyTimeoutMs: 60_000, bulk: true })
  await importArchive(store, archive())
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  const makeToken = (accountId: number) =>
    createKey(store, { accountId, name: 'test', scopes: ['dtt:read', 'lkbx:read'], expiresAt: null }, Date.now())
  const keys = { own: await makeToken(1), others: await makeToken(2) }
  await store.close()
  return keys
}

const year = new Date().getUTCFullYear() - 1

/** What is requested of the long history, and whether it reads all of it. */
export const longPaths: readonly (readonly [path: string, readsAll?: true])[] = [
  // First, so that the cache of the database is filled.
  ['/settings/export', true],
  ['/', true],
  ['/training?range=all'],
  ['/training?range=all&sort=distance&type=training'],
  ['/year'],
  ['/programs'],
  [`/api/v1/dtt/stats?from=${year}-01-01&to=${year}-12-31&tz=Europe/Berlin`],
  ['/api/v1/status'],
  ['/training.csv?range=all', true],
]

/** The memory that a request of the long history may take, in megabytes. */
export function maxMegabytes(path: string): number {
  return path === '/settings/export' ? 20 : 60
}

export interface LongService extends AsyncDisposable {
  /** Requests a path as the owner of the long history, while the other account requests its session again and again. */
  visit(path: string): Promise<LongVisit>
}

/** What a request took, and how it affected other requests. */
export interface LongVisit {
  readonly status: number
  /** The most memory that the service took while it answered only the other account, and then while it answered both, in megabytes. */
  readonly before: number
  readonly peak: number
  readonly others: readonly Outcome[]
  /** The medians of how long the other account waited for a response: before, and while it was answered. In milliseconds. */
  readonly idleWait: number
  readonly wait: number
}

/** A service on such a database, on which requests of the other account are running smoothly. Needs /proc. */
export async function serveLong({ url }: TestDatabase, { own, others }: LongKeys): Promise<LongService> {
  const service = await serve(url)
  // A thread of its own: with 80 MB to read, this one would notice the responses to others late.
  const reader = new Callers()
  const askOther = () => ask(`${service.url}/api/v1/dtt/sessions/200000`, others)
  for (let round = 0; round < WARM_UP_REQUESTS; round += 1) await askOther()
  const ann = visitor(service.url)
  await ann.signIn('ann')
  await ann.get('/settings')
  const memory = () => {
    const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8')
    return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024)
  }
  return {
    async visit(path) {
      let before = memory()
      const idle: Outcome[] = []
      for (let round = 0; round < REQUESTS_BEFORE; round += 1) {
        idle.push(await askOther())
        before = Math.max(before, memory())
      }
      let peak = before
      const outcomes: Outcome[] = []
      const done = new AbortController()
      const asking = (async () => {
        while (!done.signal.aborted) {
          outcomes.push(await askOther())
          peak = Math.max(peak, memory())
        }
      })()
      const headers: Download['headers'] = path.startsWith('/api')
        ? { Authorization: `Bearer ${own}` }
        : { Cookie: cookiesOf(ann) }
      let status = await reader.download({ url: service.url + path, headers })
      // On a busy machine a page may time out. The service goes on with the read, so a further request finds the result.
      for (let tries = 0; status === 503 && tries < MAX_TRIES; tries += 1)
        status = await reader.download({ url: service.url + path, headers })
      done.abort()
      await asking
      return { status, before, peak, others: outcomes, idleWait: medianWait(idle), wait: medianWait(outcomes) }
    },
    async [Symbol.asyncDispose]() {
      await reader[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

/** The first thousands let the memory of a process grow, whatever else it does: by up to 29 MB. */
const WARM_UP_REQUESTS = 5000

/** The engine of JavaScript gives memory back now and then, and takes it again. */
const REQUESTS_BEFORE = 300

/** With PostgreSQL a page gets 503 after five seconds. */
const MAX_TRIES = 6

function medianWait(outcomes: readonly Outcome[]): number {
  const waits = outcomes.map(({ took }) => took).toSorted((a, b) => a - b)
  return waits[Math.floor(waits.length / 2)] ?? 0
}

async function* archive(): AsyncGenerator<Buffer> {
  let text = ''
  for (const line of lines()) {
    text += `${JSON.stringify(line)}\n`
    if (text.length < 256 * 1024) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

function* lines(): Generator<object> {
  yield* [account(1, 'ann'), account(2, 'ben'), trainingSession(200_000, 2)]
  yield* heavyYears(1, Date.now())
}
