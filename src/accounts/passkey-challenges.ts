import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { seal, unseal } from './sealed.ts'
import { hashSecret } from './secrets.ts'

/** Challenges for passkeys. Browsers keep them sealed, and the store keeps which were used. */

/** What a passkey is asked for. */
export const passkeyPurposes = ['signin', 'confirm', 'register', 'invitation'] as const
export type PasskeyPurpose = (typeof passkeyPurposes)[number]

export interface PasskeyChallenge {
  readonly challenge: string
  /** The passkey that is to be made; undefined where one is used. */
  readonly made?: PasskeyToMake
}

/** Checked and fixed before a browser makes a passkey, because a passkey stays on the device even if it is refused here. */
interface PasskeyToMake {
  /** The identifier that the device stores for the account. */
  readonly userHandle: string
  readonly name: string
}

/** How long a challenge can be answered. */
export const CHALLENGE_MS = 5 * 60_000

/** `subject` is whom the challenge is for: a session or an invitation. Others cannot use it. */
export function sealChallenge(
  store: Store,
  purpose: PasskeyPurpose,
  subject: string,
  challenge: PasskeyChallenge,
  now: number,
): Promise<string> {
  return seal(store, `passkey ${purpose} ${subject}`, challenge, now + CHALLENGE_MS)
}

/** The sealed challenge; undefined if it has expired, or was made for another purpose or subject. */
export async function openChallenge(
  store: Store,
  purpose: PasskeyPurpose,
  subject: string,
  sealed: string,
  now: number,
): Promise<PasskeyChallenge | undefined> {
  // Only `sealChallenge` seals for this purpose.
  return (await unseal(store, `passkey ${purpose} ${subject}`, sealed, now)) as PasskeyChallenge | undefined
}

/** Records within a transaction that a challenge is used. Returns false if it was used before. */
export async function useChallenge(db: Kysely<Tables>, challenge: string, now: number): Promise<boolean> {
  await db.deleteFrom('used_challenge').where('expires_at', '<=', now).execute()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_challenge')
    // It was sealed before now, so it cannot be opened after this.
    .values({ hash: hashSecret(challenge), expires_at: now + CHALLENGE_MS })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}
