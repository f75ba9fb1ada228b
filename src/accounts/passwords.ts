import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { Kysely } from 'kysely'
import pLimit from 'p-limit'
import * as Type from 'typebox'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { accountNamed } from './accounts.ts'
import { endSessionsAndInvitation } from './browser-sessions.ts'
import { act } from './act.ts'
import { GUESSABLE, isGuessable } from './password-rules.ts'
import type { Proof } from './proofs.ts'
import { Refusal } from '../contract/refusal.ts'

export const MIN_PASSWORD_LENGTH = 12
export const MAX_PASSWORD_LENGTH = 1024

/** Sets the password of an account, and ends its browser sessions except `keepSession` and its invitation. */
export const setPassword = act({
  title: 'Set a password',
  confirms: true,
  event: 'password-set',
  input: Type.Object({
    accountId: Type.Integer(),
    password: Type.String(),
    keepSession: Type.Optional(Type.Integer()),
  }),
  async prepare({ reads }, { accountId, password }) {
    const account = await reads.selectFrom('account').select('username').where('id', '=', accountId).executeTakeFirst()
    return hashNewPassword(password, account?.username ?? '')
  },
  async run({ db, record }, { accountId, keepSession }, passwordHash) {
    await storePassword(db, accountId, passwordHash, keepSession)
    await record({ accountId })
  },
})

/** Sets the password within a transaction: somebody who knew the old one must not stay signed in, or come back. */
export async function storePassword(
  db: Kysely<Tables>,
  accountId: number,
  passwordHash: string,
  keepSession?: number,
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('account')
    .set({ password_hash: passwordHash })
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) throw new Refusal('refused', 'there is no such account')
  await endSessionsAndInvitation(db, accountId, keepSession)
}

/** The hash of a new password of somebody. Throws Refusal if it is too short, too long or among the first that are tried. */
export async function hashNewPassword(password: string, username: string): Promise<string> {
  const length = [...password].length
  if (length < MIN_PASSWORD_LENGTH || length > MAX_PASSWORD_LENGTH) {
    throw new Refusal('refused', `a password must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`)
  }
  if (isGuessable(password, username)) throw new Refusal('refused', `a password must not be ${GUESSABLE}`)
  return runQueued(() => hashPassword(password))
}

/** The account with this name and password. It takes the same time whether the name, the password or both are wrong. */
export async function verifyPassword(store: Store, username: string, password: string): Promise<Proof | undefined> {
  const named = await accountNamed(store.reads, username)
  const account = await store.reads
    .selectFrom('account')
    .select(['id', 'password_hash'])
    .where('id', '=', named?.id ?? 0)
    .executeTakeFirst()
  // Awaited also for known names: otherwise the first unknown name would take longer.
  const fallback = await runQueued(() => (dummyHash ??= hashPassword(randomBytes(16).toString('hex'))))
  const matches = await runQueued(() => isPassword(password, account?.password_hash ?? fallback))
  return matches && account?.password_hash != null
    ? { method: 'password', accountId: account.id, credential: account.password_hash }
    : undefined
}

const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await derive(password, salt, COST)
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

const HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

async function isPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', tag = ''] = HASH.exec(stored) ?? []
  const expected = Buffer.from(tag, 'base64')
  if (expected.length === 0) return false
  // The stored hash names the cost it was made with.
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  }
  return timingSafeEqual(await derive(password, Buffer.from(salt, 'base64'), cost), expected)
}

function derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  return promisify(argon2)('argon2id', { message: password.normalize('NFC'), nonce: salt, ...cost })
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

/** The hash of a random password, to compare with when there is no account of that name. */
let dummyHash: Promise<string> | undefined

/** Each hash takes 19 MiB and a core, so many at once could exhaust the machine. */
const hashing = pLimit(2)
const MAX_WAITING_HASHES = 32
/** How many passwords may be checked, or wait for that, at the same time. */
export const MAX_CHECKS = hashing.concurrency + MAX_WAITING_HASHES

export class TooManyPasswordsError extends StoreUnavailableError {
  override readonly name = 'TooManyPasswordsError'
}

/** Runs the work, a few at a time. Throws TooManyPasswordsError if too many are waiting already. */
async function runQueued<Result>(work: () => Promise<Result>): Promise<Result> {
  if (hashing.activeCount + hashing.pendingCount >= MAX_CHECKS) {
    throw new TooManyPasswordsError('too many passwords are being checked')
  }
  return hashing(work)
}
