import { createHmac } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Kysely, Selectable } from 'kysely'
import * as Type from 'typebox'
import { isObject } from '../archive/values.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { act } from './act.ts'
import { MAX_CHALLENGE_MS, type PasskeyChallenge, type PasskeySite, useChallenge } from './passkey-challenges.ts'
import { lockAccount, type Proof } from './proofs.ts'
import { sealingKey } from './sealed.ts'
import { Refusal } from '../contract/refusal.ts'

/** Passkeys: keys on devices of their owner, which sign a challenge when a finger or a PIN unlocks them. */

export type PasskeyFacts = Omit<Selectable<Tables['passkey']>, 'public_key' | 'counter' | 'account_id' | 'transports'>

/** The passkeys of an account in the order in which they were made. */
export function listPasskeys({ reads }: Pick<Store, 'reads'>, accountId: number): Promise<PasskeyFacts[]> {
  return reads
    .selectFrom('passkey')
    .select(['id', 'credential_id', 'rp_id', 'user_handle', 'name', 'created_at', 'last_used_at'])
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute()
}

/**
 * What a browser needs to make a passkey for an account, with the challenge that its answer must contain. Throws Refusal
 * if it could not be added, because what a browser has made stays on the device.
 */
export async function creationOptions(
  store: Store,
  account: { readonly id: number; readonly username: string },
  site: PasskeySite,
  name: string,
) {
  if (!isName(name)) throw new Refusal('refused', `a passkey has a name of 1 to ${MAX_NAME_LENGTH} characters`)
  const known = await listPasskeys(store, account.id)
  checkCount(known.length)
  const userHandle = known[0]?.user_handle ?? (await userHandleOf(store, account.id))
  const { generateRegistrationOptions } = await loadServer()
  const options = await generateRegistrationOptions({
    rpName: 'Lockstep',
    rpID: site.rpId,
    userName: account.username,
    userDisplayName: account.username,
    userID: new Uint8Array(Buffer.from(userHandle, 'base64url')),
    timeout: MAX_CHALLENGE_MS,
    attestationType: 'none',
    excludeCredentials: known.map(({ credential_id: id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
  return [options, { ...site, challenge: options.challenge, newPasskey: { userHandle, name } }] as const
}

/** A passkey that a browser has made, and that is not stored yet. */
export type NewPasskey = Pick<
  Selectable<Tables['passkey']>,
  'credential_id' | 'public_key' | 'counter' | 'rp_id' | 'user_handle' | 'name'
>

/** Checks what a browser answered to `creationOptions`, as JSON. Undefined if it is not what was asked for, or was used before. */
export async function verifyNewPasskey(
  store: Store,
  answer: string | null,
  asked: PasskeyChallenge | undefined,
  now: number,
): Promise<NewPasskey | undefined> {
  // The library checks the rest of the shape.
  const response = parseAnswer(answer) as RegistrationResponseJSON | undefined
  if (response === undefined || asked?.newPasskey === undefined) return undefined
  const { challenge, rpId, origin, newPasskey } = asked
  const { verifyRegistrationResponse } = await loadServer()
  const verification = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => NOT_VERIFIED)
  if (!verification.verified) return undefined
  const { credential } = verification.registrationInfo
  if (!(await store.db.transaction().execute(db => useChallenge(db, challenge, now)))) return undefined
  return {
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    rp_id: rpId,
    user_handle: newPasskey.userHandle,
    name: newPasskey.name,
  }
}

/** Stores a passkey within a transaction. Throws Refusal if it is stored already, or the account has too many. */
export async function addPasskey(
  db: Kysely<Tables>,
  store: Pick<Store, 'engine'>,
  { accountId, passkey, now }: { readonly accountId: number; readonly passkey: NewPasskey; readonly now: number },
): Promise<void> {
  await lockAccount(db, store, accountId)
  const { count } = await db
    .selectFrom('passkey')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  checkCount(Number(count))
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('passkey')
    .values({ ...passkey, transports: '', account_id: accountId, created_at: now })
    .onConflict(conflict => conflict.column('credential_id').doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) throw new Refusal('refused', 'this passkey is registered already')
}

/** Stores a passkey for somebody who is signed in. */
export const registerPasskey = act({
  title: 'Add a passkey',
  confirms: true,
  event: 'passkey-added',
  input: Type.Object({ accountId: Type.Integer(), passkey: Type.Unsafe<NewPasskey>({}) }),
  async run({ db, store, now, record }, { accountId, passkey }) {
    await addPasskey(db, store, { accountId, passkey, now })
    await record({ accountId, subject: passkey.name })
  },
})

/** What a browser needs to sign a challenge with any passkey of this service. */
export async function requestOptions(site: PasskeySite) {
  const { generateAuthenticationOptions } = await loadServer()
  const options = await generateAuthenticationOptions({
    rpID: site.rpId,
    timeout: MAX_CHALLENGE_MS,
    userVerification: 'required',
  })
  return [options, { ...site, challenge: options.challenge }] as const
}

/**
 * Checks what a browser answered to `requestOptions`, as JSON. Undefined if the passkey is not known here, did not sign this
 * challenge for this site, or the challenge was used before.
 */
export async function verifyPasskey(
  store: Store,
  answer: string | null,
  asked: PasskeyChallenge | undefined,
  now: number,
): Promise<Proof | undefined> {
  // The library checks the rest of the shape.
  const response = parseAnswer(answer) as AuthenticationResponseJSON | undefined
  if (response === undefined || asked === undefined) return undefined
  const { challenge, rpId, origin } = asked
  const passkey = await store.reads
    .selectFrom('passkey')
    .selectAll()
    .where('credential_id', '=', response.id)
    .where('rp_id', '=', rpId)
    .executeTakeFirst()
  if (passkey === undefined) return undefined
  const { verifyAuthenticationResponse } = await loadServer()
  const verification = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id,
      publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
      counter: passkey.counter,
    },
  }).catch(() => NOT_VERIFIED)
  if (!verification.verified) return undefined
  if (response.response.userHandle !== passkey.user_handle) return undefined
  const { newCounter } = verification.authenticationInfo
  return store.db.transaction().execute(async db => {
    if (!(await useChallenge(db, challenge, now))) return undefined
    const { numUpdatedRows } = await db
      .updateTable('passkey')
      .set({ counter: newCounter, last_used_at: now })
      .where('id', '=', passkey.id)
      .where('counter', '=', passkey.counter)
      .executeTakeFirstOrThrow()
    return numUpdatedRows === 0n
      ? undefined
      : { method: 'passkey', accountId: passkey.account_id, credential: passkey.id }
  })
}

/**
 * The identifier that devices store for an account. It is always the same, so that a new passkey replaces one that was made on the
 * device and not added here.
 */
async function userHandleOf(store: Store, accountId: number): Promise<string> {
  return createHmac('sha256', await sealingKey(store))
    .update(`passkeys of ${accountId}`)
    .digest('base64url')
}

function checkCount(passkeys: number) {
  if (passkeys >= MAX_PASSKEYS) throw new Refusal('refused', `an account has at most ${MAX_PASSKEYS} passkeys`)
}

const MAX_PASSKEYS = 20
/** EdDSA, ES256 and RS256: what devices have. */
const ALGORITHMS = [-8, -7, -257]
const NOT_VERIFIED = { verified: false } as const

/** Loaded when the first passkey is made or used: most processes never need it. */
function loadServer() {
  return import('@simplewebauthn/server')
}

/** Parses the JSON of a browser's answer; undefined if it does not name a passkey. */
function parseAnswer(text: string | null): { readonly id: string } | undefined {
  let value: unknown
  try {
    value = JSON.parse(text ?? '')
  } catch {
    return undefined
  }
  const id = isObject(value) ? value['id'] : undefined
  return isObject(value) && typeof id === 'string' && BASE64URL.test(id) ? { ...value, id } : undefined
}

const BASE64URL = /^[\w-]+$/
