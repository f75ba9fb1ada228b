import { OPERATOR } from '../../../src/accounts/events.ts'
import { type Clock, type Send, Source } from '../../../src/pull/source.ts'
import { pullOnce, type RoundOptions } from '../../../src/pull/round.ts'
import type { PullReport } from '../../../src/pull/report.ts'
import type { Store } from '../../../src/store/index.ts'
import { SOURCE_TOKEN } from './source-server.ts'

/** Who removes records, for the log of events of their account. */
export const byOperator = { actor: OPERATOR, now: 1 }

/** A clock that advances only while somebody waits. */
export interface TestClock extends Clock {
  time: number
  /** What was waited, in milliseconds. */
  readonly waits: number[]
}

export function makeClock(time = Date.now()): TestClock {
  const clock: TestClock = {
    time,
    waits: [],
    now: () => clock.time,
    wait: async ms => {
      clock.waits.push(ms)
      clock.time += ms
    },
  }
  return clock
}

/** A source that was pulled from, without a pull. Returns its id. */
export async function addKnownSource(
  { db }: Pick<Store, 'db'>,
  given: { account_id?: number; origin?: string; completed_at?: number | null } = {},
): Promise<number> {
  const source = { account_id: 1, origin: 'https://history.example', completed_at: Date.now(), full_at: null, ...given }
  const { id } = await db
    .insertInto('pull_source')
    .values({ ...source, username: null, knows_me: 1, capabilities: '{}' })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** A training session of account 1 that a source had, and no longer has. */
export async function addGoneSession({ db }: Pick<Store, 'db'>, source_id: number, id: number) {
  const row = { source_id, kind: 'training-session', id, owner_id: 1, form: '', open_at: null }
  await db
    .insertInto('pull_row')
    .values({ ...row, missing_at: 1, gone_at: 1 })
    .execute()
}

export interface TestPull extends Partial<Omit<RoundOptions, 'store' | 'source'>> {
  readonly token?: string
  readonly clock?: Clock
  readonly rate?: number
  readonly stop?: AbortSignal
  /** Sends requests instead of `fetch`. */
  readonly send?: Send
}

export function makeSource(url: string, options: TestPull = {}) {
  const { token = SOURCE_TOKEN, clock = makeClock(), rate = 0, stop = new AbortController().signal, send } = options
  return new Source({ address: url, key: token, rate, clock, stop, ...(send === undefined ? {} : { send }) })
}

/** Pulls once into a store. */
export function pull(store: Store, url: string, options: TestPull = {}): Promise<PullReport> {
  const { token: _t, clock: _c, rate: _r, stop: _s, send: _n, ...round } = options
  return pullOnce({ store, source: makeSource(url, options), ...round })
}
