import assert from 'node:assert/strict'
import fc from 'fast-check'
import { SourceError, StoppedError } from '../../../src/pull/source.ts'
import { openStore } from '../archives.ts'
import { type Change, changes, checkGone, checkStore, goneRows, ModelSource, MORE_THAN_A_DAY, OTHER } from './model.ts'
import { makeClock, pull } from './pulls.ts'
import { type Fault, type SourceServerOptions, startSource } from './source-server.ts'

/** A pull, and what happens at its requests. */
interface Step {
  readonly waitHours: number
  readonly before: readonly Change[]
  readonly full: boolean
  readonly during: readonly { readonly request: number; readonly change: Change }[]
  /** The request at which the source fails for good, or the pull is stopped. */
  readonly ends: { readonly request: number; readonly how: 'refused' | 'away' | 'stopped' } | undefined
  readonly faults: readonly { readonly request: number; readonly fault: Fault }[]
}

const request = fc.integer({ min: 0, max: 40 })

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
  faults: fc.array(
    fc.record({ request, fault: fc.constantFrom<Fault>({ status: 502 }, { status: 429 }, 'cut', 'cut body') }),
    { maxLength: 3 },
  ),
})

const habits: fc.Arbitrary<Partial<SourceServerOptions>> = fc.record({
  identity: fc.constantFrom('/users/me' as const, '/me' as const),
  unknownParameters: fc.constantFrom('ignored' as const, 'refused' as const),
  maxLimit: fc.constantFrom(12, 25, 100),
  listsWithout: fc.constantFrom(
    {},
    { '/lkbx/sessions': ['LockSegment', 'startDate'], '/dtt/sessions': ['TrainerSegment'] },
  ),
})

/** Pulls by this number of random schedules, each of which must make the store equal to the source. */
export async function checkSchedules(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(habits, fc.integer({ min: 0, max: 40 }), fc.array(step, { maxLength: 5 }), runSchedule),
    { numRuns },
  )
}

/** Pulls by one schedule, from a source with so many rows of each kind. */
export async function runSchedule(habit: Partial<SourceServerOptions>, rows: number, steps: readonly Step[]) {
  const model = new ModelSource(rows)
  const clock = makeClock(model.now)
  await using source = await startSource({ ...habit, world: model.world, others: [OTHER] })
  await using here = await openStore()
  for (const { waitHours, before, full, during, ends, faults } of steps) {
    clock.time += waitHours * 3_600_000
    model.now = clock.time
    for (const change of before) model.apply(change)
    const stop = new AbortController()
    const first = source.requests.length
    source.before = (_, index) => {
      for (const { request: when, change } of during) if (when === index - first) model.apply(change)
      if (ends?.how === 'stopped' && ends.request <= index - first) stop.abort()
    }
    source.fault = (_, index) => {
      if (ends !== undefined && ends.request <= index - first) {
        if (ends.how === 'refused') return { status: 401 }
        if (ends.how === 'away') return { status: 503 }
      }
      return faults.find(({ request: when }) => when === index - first)?.fault
    }
    try {
      await pull(here.store, source.url, { clock, full, stop: stop.signal })
    } catch (error) {
      if (!(error instanceof SourceError || error instanceof StoppedError)) throw error
    }
    await checkGone(here.store, model)
  }
  source.before = undefined
  source.fault = undefined
  await pull(here.store, source.url, { clock, full: true })
  const extra = await checkStore(await here.export(), model)
  await checkGone(here.store, model)

  // Removed rows are gone after two complete walks more than a day apart.
  for (let round = 0; round < 2; round += 1) {
    clock.time += MORE_THAN_A_DAY
    await pull(here.store, source.url, { clock, full: true })
  }
  assert.deepEqual(new Set(await goneRows(here.store)), new Set(extra))
  assert.deepEqual(await checkStore(await here.export(), model), extra)
}
