import { sql } from 'kysely'
import { type Config, MAX_CHECKS_PER_HOUR } from '../config.ts'
import { parseAddress, parseKey } from '../contract/address.ts'
import { isRefusal, Refusal, renamed } from '../contract/refusal.ts'
import { HOUR_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { systemClock, type Send, Source, SourceError, SourceRefusedError, StoppedError } from './source.ts'
import { makeGuardedFetch } from './guarded-fetch.ts'
import { rowsOf, sourceLists } from './lists.ts'
import { findTarget, identify, usernameOf } from './whose.ts'

/** What a source is, and whose key it is there, before anything is stored. */
export type CheckedSource = Awaited<ReturnType<typeof checkConnection>>

const CHECK_MS = 30_000

interface CheckOptions {
  readonly store: Store
  readonly config: Pick<Config, 'sourceOrigins' | 'pullRate'>
  readonly now: number
  /** Sends requests; guarded by the setting if there is none. */
  readonly send?: Send
}

/** Asks a source what it is. Each request is sent once. Throws Refusal with what is wrong. */
export async function checkConnection(
  options: CheckOptions,
  accountId: number,
  entered: { readonly origin: string; readonly key: string },
) {
  const { store, config } = options
  const refused = ['usage', 'refused'] as const
  const origin = renamed('the address', refused, () => parseAddress(entered.origin.trim(), config.sourceOrigins))
  const key = renamed('the key', refused, () => parseKey(entered.key))
  await countCheck(options, accountId)
  try {
    const source = sourceOf(options, origin, key)
    const identity = await identify(source)
    const lists = await readLists(source)
    const target = await findTarget(store, origin, identity, String(accountId)).catch((error: unknown) => {
      // Which of them would tell who else is here.
      if (isRefusal(error, 'usage', 'removed')) return undefined
      throw error
    })
    return {
      origin,
      key,
      // Undefined if the source does not say whose the key is.
      id: identity?.id,
      username: usernameOf(identity?.user),
      // Whether the account here has that id, or can take it.
      fits: target !== undefined,
      newId: target?.presentId === undefined ? undefined : target.id,
      ...lists,
    }
  } catch (error) {
    if (error instanceof StoppedError)
      throw new Refusal('refused', `${origin} takes too long to answer: try again later`)
    if (error instanceof SourceError) throw new Refusal('refused', error.message)
    throw error
  }
}

function sourceOf({ config, send = makeGuardedFetch(config) }: CheckOptions, address: string, key: string): Source {
  const deadline = AbortSignal.timeout(CHECK_MS)
  return new Source({
    address,
    key,
    rate: config.pullRate,
    clock: systemClock,
    stop: deadline,
    send: (url, init) =>
      send(url, { ...init, signal: AbortSignal.any([deadline, ...(init.signal ? [init.signal] : [])]) }),
    attempts: 1,
  })
}

/** The kinds of records of which the source has a list, and those of which it has none. */
async function readLists(source: Source) {
  const kinds: string[] = []
  const missing: string[] = []
  for (const { kind, title, path } of sourceLists) {
    const { data } = await source.get(path, { limit: 1, offset: 0 }).catch((error: unknown) => {
      if (!(error instanceof SourceRefusedError)) throw error
      throw new Refusal(
        'refused',
        `the key may not read ${title} there. Make one that may read both lock data and training data`,
      )
    })
    ;(rowsOf(data) === undefined ? missing : kinds).push(kind)
  }
  return { kinds, missing }
}

/** Counts a check of the account. Throws Refusal if there were too many in the last hour. */
async function countCheck({ store, now }: CheckOptions, accountId: number): Promise<void> {
  await store.db.transaction().execute(async db => {
    // Of checks at the same moment none finds room that another one takes.
    if (store.engine === 'postgres') await sql`select pg_advisory_xact_lock(${CHECK_LOCK})`.execute(db)
    const old = db.deleteFrom('source_check').where('account_id', '=', accountId)
    await old.where('at', '<=', now - HOUR_MS).execute()
    const ofAccount = db.selectFrom('source_check').where('account_id', '=', accountId)
    const checks = await ofAccount.select('at').orderBy('at', 'desc').execute()
    if (checks.length >= MAX_CHECKS_PER_HOUR) {
      throw new Refusal(
        'too-often',
        `an account may have a source checked ${MAX_CHECKS_PER_HOUR} times an hour: try again later`,
      )
    }
    const at = Math.max(now, (checks[0]?.at ?? 0) + 1)
    await db.insertInto('source_check').values({ account_id: accountId, at }).execute()
  })
}

const CHECK_LOCK = 5625_004
