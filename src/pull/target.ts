import { listAccounts, type AccountFacts } from '../accounts/accounts.ts'
import { RefusedError } from '../accounts/errors.ts'
import { isRemoved } from '../accounts/removal.ts'
import { isName } from '../contract/names.ts'
import type { Store } from '../store/index.ts'
import type { Identity } from './identity.ts'
import { findSource, originsOf } from './state.ts'

/** The options do not match the source; the message says what to do instead. */
export class PullUsageError extends Error {
  override readonly name = 'PullUsageError'
}

/** The account was removed here, so nothing of it is stored. */
export class RemovedAccountError extends Error {
  override readonly name = 'RemovedAccountError'
}

/** The local account that records are pulled into. */
export interface Target {
  readonly id: number
  readonly username: string
  readonly isNew: boolean
}

/**
 * Finds the account for the records of a source; `named` is the value of `--account`. Throws PullUsageError or RefusedError
 * if the account here and that of the source may be different people, RemovedAccountError.
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
    throw new PullUsageError(
      'the source does not say whom the API key belongs to: give the id of the account (--account)',
    )
  }
  if (namedId !== undefined && namedId !== id) {
    throw new PullUsageError(
      `the token belongs to account ${id} of the source, not to ${namedId}: give that id, or none`,
    )
  }
  if (await isRemoved(store, id)) {
    throw new RemovedAccountError(
      `account ${id} was removed here: nothing was stored. To have it again, add it first: account add --id ${id}`,
    )
  }
  const name = nameOf(identity?.user) ?? ''
  const stored = accounts.find(account => account.id === id)
  const known = await findSource(store, id, origin)
  if (known === undefined && identity !== undefined && named !== String(id)) checkSamePerson(id, name, accounts)
  if (known === undefined && named === undefined && (await originsOf(store, id)).length > 0) {
    throw new PullUsageError(
      `account ${id} is pulled from another source: to pull from this one too, give the account (--account)`,
    )
  }
  const isFree = isUsable(name) && accounts.every(account => account.id === id || account.username !== name)
  if (stored === undefined) return { id, username: isFree ? name : `account-${id}`, isNew: true }
  // A name that changed at the source changes here, too, unless the two already differed.
  const follows = isFree && known !== undefined && known.username === stored.username
  return { id, username: follows ? name : stored.username, isNew: false }
}

/** The username at the source, if any. */
export function nameOf(user: Identity['user'] | undefined): string | undefined {
  const name = user?.['username']
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Whether an account here may have this name. */
export function isUsable(name: string): boolean {
  return isName(name) && name.isWellFormed() && !/^[0-9]+$/.test(name)
}

function idOfAccount(
  named: string,
  accounts: readonly AccountFacts[],
  identity: Identity | undefined,
): number | undefined {
  if (/^[0-9]+$/.test(named)) {
    if (/^[1-9]/.test(named) && Number.isSafeInteger(Number(named))) return Number(named)
    throw new PullUsageError('--account must be an id of 1 or more, or a username')
  }
  const found = accounts.find(({ username }) => username === named)
  if (found !== undefined || named === nameOf(identity?.user)) return found?.id
  throw new RefusedError('there is no account with this username')
}

/** Throws if the id or the name of the account at the source belongs to an account here that may be another person. */
function checkSamePerson(id: number, name: string, accounts: readonly AccountFacts[]) {
  const advice = `if both are the same person, say so with --account ${id}`
  const sameId = accounts.find(account => account.id === id)
  if (sameId !== undefined && sameId.username !== name) {
    throw new RefusedError(
      `account ${id} is ${quote(sameId.username)} here and ${quote(name)} at the source; nothing was stored: ${advice}`,
    )
  }
  const sameName = accounts.find(account => account.username === name)
  if (sameName !== undefined && sameName.id !== id) {
    throw new RefusedError(
      `${quote(name)} is account ${sameName.id} here and account ${id} at the source; nothing was stored: ${advice}`,
    )
  }
}

function quote(name: string): string {
  return JSON.stringify(name)
}
