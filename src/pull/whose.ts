import { sql } from 'kysely'
import { type AccountFacts, listAccounts } from '../accounts/accounts.ts'
import { isRemoved } from '../accounts/removal.ts'
import { isUnused } from '../accounts/renumber.ts'
import { type BatchOptions, OWNER_UNKNOWN, storeBatch } from '../archive/batch-importer.ts'
import { parseRejected, rejectedInParts } from '../archive/retry-rejected.ts'
import { isObject } from '../archive/values.ts'
import { findByName, foldedName, isDigits, isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { Refusal } from '../contract/refusal.ts'
import type { Store } from '../store/index.ts'
import {
  deviceLists,
  type SourceList,
  trainingSessions,
  trainingTemplates,
  idOf,
  rowsOf,
  type SourceData,
  type SourceRow,
  toRecord,
} from './lists.ts'
import type { SourceReader } from './walk.ts'
import { type Source, SourceError } from './source.ts'
import { findSource, type PullSource } from './state.ts'

/** Whose the API key is at the source, which account here that is, and whose each record is. */

export type Identity = NonNullable<Awaited<ReturnType<typeof identify>>>

/**
 * Asks the source whom the API key belongs to, first at the path that returned it before: the fields of the user, or only the id if it sends
 * no more; undefined if it does not say. Throws SourceError unless it has a list of this API.
 */
export async function identify(source: Source, known?: string) {
  for (const path of new Set([...(known === undefined ? [] : [known]), '/users/me', '/me', '/users'])) {
    const { data } = await source.get(path)
    const user = path === '/users' ? onlyRow(data) : userOf(data)
    const id = idOf(user?.['id'])
    if (user !== undefined && id !== undefined) return { id, user, path }
  }
  for (const path of ['/lkbx/templates', '/dtt/sessions']) {
    const { status } = await source.get(path, { limit: 1, offset: 0 })
    if (status === 200) return undefined
  }
  throw new SourceError(`${source.address} has no lists of this API: is this the right address?`)
}

function onlyRow(data: unknown): SourceData | undefined {
  const rows = rowsOf(data) ?? []
  return rows.length === 1 && isObject(rows[0]) ? rows[0] : undefined
}

function userOf(data: unknown): SourceData | undefined {
  if (!isObject(data)) return undefined
  const { account } = data
  return idOf(data['id']) === undefined && isObject(account) ? account : data
}

/** The local account that records are pulled into. */
export interface Target {
  readonly id: number
  readonly username: string
  readonly isNew: boolean
  /** The id that the account has now, if it takes that of the source. */
  readonly presentId?: number
}

/**
 * Finds the account for the records of a source; `named` is the value of `--account`. Throws Refusal if
 * the account here and that of the source may be different people, or if it was removed here.
 */
export async function findTarget(
  store: Store,
  origin: string,
  identity: Identity | undefined,
  named: string | undefined,
): Promise<Target> {
  const accounts = await listAccounts(store)
  const namedId = named === undefined ? undefined : idOfAccount(named, accounts, identity)
  const id = identity?.id ?? namedId
  if (id === undefined) {
    throw new Refusal(
      'usage',
      'the source does not say whom the API key belongs to: give the id of the account (--account)',
    )
  }
  if (await isRemoved(store, id)) {
    throw new Refusal(
      'removed',
      `account ${id} was removed here: nothing was stored. To have it again, add it first: account add --id ${id}`,
    )
  }
  if (namedId !== undefined && namedId !== id) {
    const present = accounts.find(account => account.id === namedId)
    const isFree = accounts.every(account => account.id !== id)
    if (present !== undefined && isFree && (await isUnused(store, namedId))) {
      return { id, username: present.username, isNew: false, presentId: namedId }
    }
    throw new Refusal(
      'usage',
      `this API key belongs to account ${id} of the source, not to ${namedId}: use --account ${id}, or leave --account out`,
    )
  }
  const name = usernameOf(identity?.user) ?? ''
  const stored = accounts.find(account => account.id === id)
  const known = await findSource(store, id, origin)
  if (known === undefined && identity !== undefined && named !== String(id)) {
    await checkSamePerson(store, { id, name, accounts })
  }
  // Any source can claim the id and the name of an account here, so only the one that filled it may replace its records.
  if (named === undefined && stored !== undefined && known === undefined && !(await isUnused(store, id))) {
    throw new Refusal(
      'usage',
      `account ${id} has records that are not from this source, which a pull may replace: to pull into it, give the account (--account ${id})`,
    )
  }
  const isUsable = isName(name) && name.isWellFormed() && !isDigits(name)
  const isFree =
    isUsable && accounts.every(account => account.id === id || foldedName(account.username) !== foldedName(name))
  if (stored === undefined) return { id, username: isFree ? name : `account-${id}`, isNew: true }
  // A name that changed at the source also changes here, unless the two already differed.
  const follows = isFree && known !== undefined && known.username === stored.username
  return { id, username: follows ? name : stored.username, isNew: false }
}

export function usernameOf(user: SourceData | undefined): string | undefined {
  const name = user?.['username']
  return typeof name === 'string' && name !== '' ? name : undefined
}

function idOfAccount(
  named: string,
  accounts: readonly AccountFacts[],
  identity: Identity | undefined,
): number | undefined {
  if (isDigits(named)) {
    if (/^[1-9]/.test(named) && Number.isSafeInteger(Number(named))) return Number(named)
    throw new Refusal('usage', '--account must be an id of 1 or more, or a username')
  }
  const found = findByName(accounts, named)
  const sourceName = usernameOf(identity?.user) ?? ''
  if (found !== undefined || foldedName(named) === foldedName(sourceName)) return found?.id
  throw new Refusal('refused', 'there is no account with this username')
}

/** Throws if the id or the name of the account at the source belongs to an account here that may be another person. */
async function checkSamePerson(
  store: Store,
  { id, name, accounts }: { id: number; name: string; accounts: readonly AccountFacts[] },
) {
  const advice = 'if both are the same person, say so with --account'
  const sameId = accounts.find(account => account.id === id)
  if (sameId !== undefined && sameId.username !== name) {
    throw new Refusal(
      'refused',
      `account ${id} is ${quoteName(sameId.username)} here and ${quoteName(name)} at the source; nothing was stored: ${advice} ${id}`,
    )
  }
  const sameName = findByName(accounts, name)
  if (sameName !== undefined && sameName.id !== id) {
    const takesId = sameId === undefined && (await isUnused(store, sameName.id))
    throw new Refusal(
      'refused',
      `${quoteName(sameName.username)} is account ${sameName.id} here and ${quoteName(name)} is account ${id} at the source; nothing was stored: ${advice} ${takesId ? `${sameName.id}, which then has the id ${id}` : id}`,
    )
  }
}

/** A name of a source, which may be of any length, for a message. */
export function quoteName(name: string): string {
  const start = name.slice(0, MAX_NAME_LENGTH).toWellFormed()
  return JSON.stringify(start) + (start.length < name.length ? '…' : '')
}

export type Ownership = ReturnType<typeof makeOwnership>

/** Finds the owners of records. Training sessions have no owner field. */
export function makeOwnership(store: Store, source: Source, reader: SourceReader, me: number) {
  const devices = new Map<number, number>()
  const programs = new Map<number, number | undefined>()
  let seesOthers: boolean | undefined

  const ownerOfProgram = async (id: number) => {
    if (!programs.has(id)) {
      const stored = await store.db
        .selectFrom('training_template')
        .select('owner_id')
        .where('id', '=', id)
        .executeTakeFirst()
      const read = stored === undefined ? await reader.tryRecord(trainingTemplates, id) : undefined
      if (read === 'unanswered') return read
      programs.set(id, stored?.owner_id ?? idOf(read?.['ownerId']))
    }
    return programs.get(id)
  }
  /** Whether the API key may read the records of its own account only. */
  const seesOnlyOwn = async () => {
    const isOther = (user: unknown) => isObject(user) && user['id'] !== me
    seesOthers ??= (rowsOf((await source.get('/users')).data) ?? []).some(isOther)
    return !seesOthers
  }
  return {
    addRows(list: SourceList, rows: readonly SourceRow[]) {
      for (const { id, data } of rows) {
        const owner = idOf(data['ownerId'])
        if (id === undefined || owner === undefined) continue
        if (owner !== me) seesOthers = true
        if (deviceLists.includes(list)) devices.set(id, owner)
        if (list === trainingTemplates) programs.set(id, owner)
      }
    },
    async ownerOf(list: SourceList, data: SourceData): Promise<number | 'unanswered' | undefined> {
      const owner = idOf(data['ownerId'])
      if (owner !== undefined || list !== trainingSessions) return owner
      const device = idOf(data['trainer_id'])
      const ofDevice = device === undefined ? undefined : devices.get(device)
      if (ofDevice !== undefined) return ofDevice
      const program = idOf(data['settings_id'])
      const ofProgram = program === undefined ? undefined : await ownerOfProgram(program)
      return ofProgram ?? ((await seesOnlyOwn()) ? me : undefined)
    },
  }
}

/**
 * Stores the rejected rows of a source whose owner it does not tell as records of the account that it is pulled into, and
 * remembers that further ones belong to it as well. Returns how many are stored.
 */
export async function claimRejected(store: Store, source: PullSource, check?: BatchOptions['check']): Promise<number> {
  const { id: sourceId, account_id: accountId, origin } = source
  if (source.mine === 0) {
    await store.db.updateTable('pull_source').set({ mine: 1 }).where('id', '=', sourceId).execute()
    const connections = store.db.updateTable('source_connection').set({ mine: 1 })
    await connections.where('account_id', '=', accountId).where('origin', '=', origin).execute()
  }
  let claimed = 0
  const ownerless = sql<boolean>`kind = ${trainingSessions.kind} and reason = ${OWNER_UNKNOWN}`
  for await (const rows of rejectedInParts(store, ownerless, { accountId, origin })) {
    const known = rows.flatMap(({ raw }) => {
      const data = parseRejected(raw)?.data
      return isObject(data) ? [toRecord(trainingSessions, data, { owner: accountId, isAssumed: true })] : []
    })
    if (known.length === 0) continue
    const ids = known.map(({ data }) => (isObject(data) ? Number(data['id']) : 0))
    await storeBatch(store, known, {
      source: origin,
      account: accountId,
      check,
      within: async (db, { outcomes }) => {
        const stored = ids.filter((_, index) => outcomes[index] !== 'rejected')
        claimed += stored.length
        if (stored.length === 0) return
        await db
          .updateTable('pull_row')
          .set({ owner_id: accountId })
          .where('source_id', '=', sourceId)
          .where('kind', '=', trainingSessions.kind)
          .where('id', 'in', stored)
          .execute()
      },
    })
  }
  return claimed
}
