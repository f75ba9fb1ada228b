import assert from 'node:assert/strict'
import fc from 'fast-check'
import { SourceError, StoppedError } from '../../../src/pull/source.ts'
import { open, type Store } from '../../../src/store/index.ts'
import { endLeases } from '../jobs.ts'
import { openStore, type TestStore } from '../archives.ts'
import { eachSeed } from '../sweeps.ts'
import { type Change, changes, checkGone, checkStore, goneRows, ModelSource, MORE_THAN_A_DAY, OTHER } from './model.ts'
import { type Delay, makeNetwork, type Network } from './network.ts'
import { makeClock, pull, type TestClock } from './pulls.ts'
import type { Fault, SourceServerOptions } from './source-server.ts'

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
