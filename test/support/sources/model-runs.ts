import assert from 'node:assert/strict'
import fc from 'fast-check'
import { SourceError, StoppedError, type Send } from '../../../src/pull/source.ts'
import { open, type Store } from '../../../src/store/index.ts'
import { endLeases } from '../jobs.ts'
import { openStore, type TestStore } from '../archives.ts'
import { eachSeed } from '../sweeps.ts'
import { makeClock, pull, type TestClock } from './pulls.ts'
import {
  type Fault,
  type SourceServerOptions,
  makeResponder,
  type Reply,
  type SourceServer,
  SourceWorld,
} from './source-server.ts'
import { ReadableStream } from 'node:stream/web'
import { sql } from 'kysely'
import { DAY_MS } from '../../../src/contract/time.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../records.ts'

/** A pull, and what happens at its requests. */
interface Step {
  readonly waitHours: number
  readonly before: readonly Change[]
  readonly full: boolean
  readonly during: readonly { readonly request: number; readonly change: Change }[]
  /** The request at which the source fails for good, or the pull is stopped. */
  readonly ends: { readonly request: number; readonly how: 'refused' | 'away' | 'stopped' } | undefined
  readonly faults: readonly { readonly request: number; readonly fault: Fault }[]
  readonly delays?: readonly { readonly request: number; readonly delay: Delay }[]
  /** After how many requests and statements to the database the process is killed. */
  readonly killedAt?: number | undefined
}

/** What a source is like, and how many requests a minute are sent to it. */
interface Habit extends Partial<SourceServerOptions> {
  readonly rate?: number
}

const ME = 1
const OTHER = 2

const start = Date.parse('2026-03-01T12:00:00Z')

type Change =
  | {
      readonly does: 'add'
      readonly kind: Kind
      readonly ageHours: number
      readonly isMine: boolean
      readonly isOpen: boolean
    }
  | { readonly does: 'edit' | 'remove'; readonly pick: number }

type Kind = keyof typeof makers

const makers = {
  'lock-template': (id: number, owner: number, at: string, _isOpen: boolean, name: string) =>
    lockTemplate(id, owner, { name, createdAt: at }),
  'training-template': (id: number, owner: number, at: string, _isOpen: boolean, name: string) =>
    trainingTemplate(id, owner, { name, createdDate: at, updatedAt: at }),
  'lock-session': (id: number, owner: number, at: string, isOpen: boolean, name: string) =>
    lockSession(id, owner, { name, startDate: at, isActive: isOpen, lockState: isOpen ? 'locked' : 'completed' }),
  'training-session': (id: number, owner: number, at: string, isOpen: boolean, name: string) =>
    trainingSession(id, owner, { name, created_at: at, passed: isOpen ? null : true, trainer_id: owner }),
}

type MakerArguments = [id: number, owner: number, at: string, isOpen: boolean, name: string]

const kinds = Object.keys(makers) as Kind[]

const changes: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('add' as const),
      kind: fc.constantFrom(...kinds),
      // Most are new, some have been away for long.
      ageHours: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3000 })),
      isMine: fc.boolean(),
      isOpen: fc.boolean(),
    }),
  },
  fc.record({ does: fc.constantFrom('edit' as const, 'remove' as const), pick: fc.nat() }),
)

/** A source with a history of changes. */
class ModelSource {
  readonly world = new SourceWorld().add(account(ME, 'ann'), account(OTHER, 'ben'))
  readonly removed = new Set<string>()
  /** What the records are made of, by kind and id. */
  readonly #made = new Map<
    string,
    Parameters<(typeof makers)[Kind]> extends infer Args ? { kind: Kind; args: Args } : never
  >()
  #nextId = 1
  #edits = 0
  now = start

  constructor(rows: number) {
    this.world.add(trainingDevice(ME, ME), trainingDevice(OTHER, OTHER), lockDevice(1, ME))
    for (let row = 0; row < rows; row += 1) {
      for (const kind of kinds) {
        this.apply({ does: 'add', kind, ageHours: 24 * (rows - row), isMine: row % 3 > 0, isOpen: false })
      }
    }
  }

  apply(change: Change) {
    if (change.does === 'add') {
      const id = this.#nextId++
      const at = new Date(this.now - change.ageHours * 3_600_000).toISOString().replace('.000Z', 'Z')
      const owner = change.isMine ? ME : OTHER
      this.#put(change.kind, [id, owner, at, change.isOpen, `First name of ${id}`])
      return
    }
    const all = [...this.#made.values()]
    const picked = all[change.pick % Math.max(all.length, 1)]
    if (picked === undefined) return
    const { kind, args } = picked
    const [id, owner, at] = args
    if (change.does === 'remove') {
      this.world.remove(kind, id)
      this.#made.delete(`${kind} ${id}`)
      this.removed.add(`${kind} ${id}`)
    } else this.#put(kind, [id, owner, at, false, `Name ${(this.#edits += 1)} of ${id}`])
  }

  #put(kind: Kind, args: MakerArguments) {
    this.world.add(makers[kind](...args))
    this.#made.set(`${kind} ${args[0]}`, { kind, args })
  }

  /** The lines of an export that has all of the source's own records that can be stored. */
  async expected(): Promise<Map<string, string>> {
    const lines: object[] = []
    for (const kind of ['lock-device', 'training-device', ...kinds]) {
      for (const { data, ownerId } of this.world.of(kind).values()) {
        if (ownerId === ME) lines.push(kind === 'training-session' ? { kind, data, ownerId } : { kind, data })
      }
    }
    await using store = await openStore([account(ME, 'ann'), ...lines])
    return byRecord(await store.export(ME))
  }
}

/**
 * Throws unless the store has everything that the source has, but for what it names itself as rejected, and otherwise only what was removed
 * there. Returns that.
 */
async function checkStore(
  archive: string,
  source: ModelSource,
  rejected: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const stored = byRecord(archive)
  const expected = await source.expected()
  const extra: string[] = []
  for (const [name, line] of stored) {
    if (rejected.has(name)) continue
    if (expected.has(name)) assert.equal(line, expected.get(name))
    else {
      assert.ok(source.removed.has(name), `${name} is stored, but the source never had it`)
      extra.push(name)
    }
  }
  for (const name of expected.keys()) assert.ok(stored.has(name) || rejected.has(name), `${name} is missing`)
  return extra
}

/** The rows that the store calls gone, as kind and id. */
async function goneRows({ db }: Store): Promise<string[]> {
  const { rows } = await sql<{ kind: string; id: number }>`
    select kind, id from pull_row where gone_at is not null order by kind, id`.execute(db)
  return rows.map(({ kind, id }) => `${kind} ${id}`)
}

/** Throws if a row is called gone that the source has. */
async function checkGone(store: Store, source: ModelSource) {
  for (const name of await goneRows(store)) assert.ok(source.removed.has(name), `${name} is called gone`)
}

const MORE_THAN_A_DAY = DAY_MS + 1

function byRecord(archive: string): Map<string, string> {
  return new Map(
    archive
      .split('\n')
      .filter(line => line !== '' && !/^{"kind":"(account|end)"/.test(line))
      .map(line => {
        const { kind, data } = JSON.parse(line)
        return [`${kind} ${data.id}`, line]
      }),
  )
}

const request = fc.integer({ min: 0, max: 40 })

const limited = (wait: string): Fault => ({ status: 429, headers: { 'Retry-After': wait } })

const faults = fc.constantFrom<Fault>(
  { status: 502 },
  { status: 200, body: '{"ok":true,"data":' },
  { status: 429 },
  limited('0'),
  limited('86400'),
  limited('Sun, 01 Mar 2026 12:00:30 GMT'),
  limited('soon'),
  'cut',
  'cut body',
)

const step: fc.Arbitrary<Step> = fc.record({
  waitHours: fc.constantFrom(0, 1, 30, 24 * 8),
  before: fc.array(changes, { maxLength: 8 }),
  full: fc.boolean(),
  during: fc.array(fc.record({ request, change: changes }), { maxLength: 4 }),
  ends: fc.option(
    fc.record({ request, how: fc.constantFrom('refused' as const, 'away' as const, 'stopped' as const) }),
    {
      nil: undefined,
    },
  ),
  faults: fc.array(fc.record({ request, fault: faults }), { maxLength: 3 }),
  delays: fc.array(
    fc.record({ request, delay: fc.constantFrom('late' as const, 'slow' as const, 'repeated' as const) }),
    {
      maxLength: 3,
    },
  ),
  killedAt: fc.option(fc.integer({ min: 1, max: 600 }), { nil: undefined }),
})

const habits: fc.Arbitrary<Habit> = fc.record({
  identity: fc.constantFrom('/users/me' as const, '/me' as const),
  unknownParameters: fc.constantFrom('ignored' as const, 'refused' as const),
  maxLimit: fc.constantFrom(12, 25, 100),
  listsWithout: fc.constantFrom(
    {},
    { '/lkbx/sessions': ['LockSegment', 'startDate'], '/dtt/sessions': ['TrainerSegment'] },
  ),
  isMixed: fc.boolean(),
  requestsPerMinute: fc.constantFrom(1000, 20),
  retryAfter: fc.boolean(),
  rate: fc.constantFrom(0, 50),
})

/** Pulls by so many random schedules, each of which must make the store equal to the source. A schedule follows from its seed. */
export async function checkSchedules(count: number): Promise<void> {
  const schedules = fc.asyncProperty(
    habits,
    fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 10 }) }, fc.integer({ min: 10, max: 40 })),
    fc.array(step, { maxLength: 5 }),
    runSchedule,
  )
  await eachSeed(count, seed => fc.assert(schedules, { seed, numRuns: 1 }))
}

/** Pulls by one schedule, from a source with so many rows of each kind. The source, the network and the clock are in this process. */
export async function runSchedule({ rate = 0, ...habit }: Habit, rows: number, steps: readonly Step[]) {
  const model = new ModelSource(rows)
  const clock = makeClock(model.now)
  const network = makeNetwork({ ...habit, world: model.world, others: [OTHER] }, clock)
  await using here = await openStore()
  await using own = makeOwn(here)
  const world: World = { model, clock, network, here, own, rate }
  for (const step of steps) {
    await runStep(world, step)
    await checkGone(here.store, model)
  }
  await quietly(world)
  const extra = await checkStore(await here.export(), model)
  await checkGone(here.store, model)

  // Removed rows are gone after two complete walks more than a day apart.
  for (let round = 0; round < 2; round += 1) {
    clock.time += MORE_THAN_A_DAY
    await quietly(world)
  }
  assert.deepEqual(new Set(await goneRows(here.store)), new Set(extra))
  assert.deepEqual(await checkStore(await here.export(), model), extra)
}

interface World {
  readonly model: ModelSource
  readonly clock: TestClock
  readonly network: Network
  readonly here: TestStore
  readonly own: Own
  readonly rate: number
}

/** The database as one process opens it. Being killed ends what the process had begun, and the next one opens it again. */
interface Own extends AsyncDisposable {
  open(): Promise<Store>
  kill(): Promise<void>
}

const ADDRESS = 'https://source.example'

async function runStep({ model, clock, network, here, own, rate }: World, step: Step) {
  const { waitHours, before, full, during, ends, faults, delays = [], killedAt } = step
  clock.time += waitHours * 3_600_000
  model.now = clock.time
  for (const change of before) model.apply(change)
  const stop = new AbortController()
  const first = network.requests.length
  const process = makeProcess(killedAt)
  const { version } = model.world
  network.before = (_, index) => {
    process.step()
    for (const { request: when, change } of during) if (when === index - first) model.apply(change)
    if (ends?.how === 'stopped' && ends.request <= index - first) stop.abort()
  }
  network.fault = (_, index) => {
    if (ends !== undefined && ends.request <= index - first) {
      if (ends.how === 'refused') return { status: 401 }
      if (ends.how === 'away') return { status: 503 }
    }
    return faults.find(({ request: when }) => when === index - first)?.fault
  }
  network.delay = index => delays.find(({ request: when }) => when === index - first)?.delay
  const store = await own.open()
  try {
    await pull(process.storeOf(store), ADDRESS, { clock, full, rate, send: network.send, stop: stop.signal })
  } catch (error) {
    if (!process.isKilled && !(error instanceof SourceError || error instanceof StoppedError)) throw error
    return
  } finally {
    if (process.isKilled) {
      await endLeases(store)
      await own.kill()
    }
  }
  const isUndisturbed = model.world.version === version && delays.every(({ delay }) => delay !== 'repeated')
  if (full && isUndisturbed && !process.isKilled)
    await checkStore(await here.export(), model, await rejectedRows(here.store))
}

/** A full round that nothing disturbs. */
async function quietly({ clock, network, own, rate }: World) {
  network.before = undefined
  network.fault = undefined
  network.delay = undefined
  await pull(await own.open(), ADDRESS, { clock, rate, send: network.send, full: true })
}

function makeOwn({ url }: TestStore): Own {
  let store: Store | undefined
  const kill = async () => {
    await store?.close()
    store = undefined
  }
  return { open: async () => (store ??= await open(url, { busyTimeoutMs: 5000 })), kill, [Symbol.asyncDispose]: kill }
}

/** A process that does nothing more after so many steps: requests and statements to the database. */
function makeProcess(killedAt: number | undefined) {
  const process = {
    isKilled: false,
    steps: 0,
    step() {
      process.steps += 1
      if (killedAt !== undefined && process.steps >= killedAt) process.isKilled = true
      if (process.isKilled) throw new Error('killed')
    },
    storeOf(store: Store): Store {
      const counting = {
        transformQuery<Node>({ node }: { node: Node }) {
          process.step()
          return node
        },
        transformResult: async <Result>({ result }: { result: Result }) => result,
      }
      return { ...store, db: store.db.withPlugin(counting), reads: store.reads.withPlugin(counting) }
    },
  }
  return process
}

/** The rows that the store names as missing or out of date, as kind and id. */
async function rejectedRows({ db }: Store): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('set_aside').select(['kind', 'record_id']).execute()
  return new Set(rows.map(({ kind, record_id }) => `${kind} ${record_id}`))
}

/** What happens on the way: the response comes after the client has given up, is slow, or is that to the same request before. */
type Delay = 'late' | 'slow' | 'repeated'

/** A source that is asked without a network, so that time passes only by the clock of the test. */
interface Network extends Pick<SourceServer, 'requests' | 'fault' | 'before'> {
  readonly send: Send
  delay: ((index: number) => Delay | undefined) | undefined
}

function makeNetwork(options: SourceServerOptions, clock: TestClock): Network {
  const { respond, state } = makeResponder({ now: clock.now, ...options })
  const earlier = new Map<string, Reply>()
  const network: Network = Object.assign(state, {
    delay: undefined,
    send: async (url, { headers }) => {
      const delay = network.delay?.(state.requests.length)
      const made = respond(
        url.slice(new URL(url).origin.length),
        new Headers(headers).get('Authorization') ?? undefined,
      )
      const reply = delay === 'repeated' ? (earlier.get(url) ?? made) : made
      if (typeof made !== 'string' && made.status < 300) earlier.set(url, made)
      clock.time += delay === 'late' ? TIMEOUT_MS : delay === 'slow' ? TIMEOUT_MS - 1 : 50
      if (delay === 'late') throw new DOMException('no response', 'TimeoutError')
      if (reply === 'cut')
        throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
      if (reply === 'cut body') return new Response(ReadableStream.from(cutBody()) as unknown as BodyInit)
      return new Response(reply.body, { status: reply.status, ...(reply.headers && { headers: reply.headers }) })
    },
  } satisfies Pick<Network, 'send' | 'delay'>)
  return network
}

const TIMEOUT_MS = 30_000

async function* cutBody(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"ok":true,"data":')
  throw new TypeError('terminated', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
}

/** A source that changes, and what a store must have in the end. */
