import type { Kysely } from 'kysely'
import type { Tables } from '../store/tables.ts'
import { hashSecret } from './secrets.ts'

/** Challenges for passkeys. Browsers keep them sealed, and the store keeps which were used. */

export const passkeyPurposes = ['signin', 'register', 'invitation'] as const
export type PasskeyPurpose = (typeof passkeyPurposes)[number]

/** Where passkeys are used. One that was made at another host does not work here. */
export interface PasskeySite {
  readonly rpId: string
  readonly origin: string
}

export interface PasskeyChallenge extends PasskeySite {
  readonly challenge: string
  /**
   * The passkey that is to be made, with the identifier that the device stores for the account; undefined where one is used. Checked and
   * fixed before a browser makes it, because it stays on the device even if it is refused here.
   */
  readonly newPasskey?: { readonly userHandle: string; readonly name: string }
}

export const MAX_CHALLENGE_MS = 5 * 60_000

/** Records within a transaction that a challenge is used. Returns false if it was used before. */
export async function useChallenge(db: Kysely<Tables>, challenge: string, now: number): Promise<boolean> {
  await db.deleteFrom('used_challenge').where('expires_at', '<=', now).execute()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_challenge')
    // It was sealed before now, so it cannot be opened after this.
    .values({ hash: hashSecret(challenge), expires_at: now + MAX_CHALLENGE_MS })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}
