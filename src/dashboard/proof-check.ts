import type { PasskeyProof, PasswordProof } from '../accounts/proofs.ts'
import { verifyPasskey } from '../accounts/passkeys.ts'
import { verifyPassword } from '../accounts/passwords.ts'
import type { Store } from '../store/index.ts'
import type { ProofWay } from '../store/tables.ts'
import { Attempts, tooManyAttempts } from './attempts.ts'
import type { Visit } from './page.ts'
import { challengeOf } from './sealed-cookie.ts'

/** Checks that the viewer is still the person who signed in. Attempts are limited by session and way, because a browser may be left signed in. */

/** The proof, or what is wrong with the password. */
export async function checkPassword(visit: Visit, password: string): Promise<PasswordProof | string> {
  const { store, viewer } = visit
  return limited(visit, 'password', 'The password is wrong.', async () => {
    const proof = await verifyPassword(store, viewer.session.username, password)
    return proof?.accountId === viewer.session.accountId ? proof : undefined
  })
}

/** The proof, or what is wrong with the answer of the browser. */
export async function checkPasskey(visit: Visit, answer: string): Promise<PasskeyProof | string> {
  const { store, viewer, site, cookies, now } = visit
  const { rpId, origin } = site
  const { id, accountId } = viewer.session
  return limited(visit, 'passkey', NOT_ACCEPTED, async () => {
    const challenge = await challengeOf(store, cookies, { site, purpose: 'confirm', subject: String(id), now })
    if (challenge === undefined || rpId === undefined) return undefined
    return verifyPasskey(store, answer, challenge, { rpId, origin }, { now, accountId })
  })
}

/** The message for a passkey that proves nothing. It does not reveal whether such a passkey exists. */
export const NOT_ACCEPTED = 'The passkey was not accepted. Try again, or use another way.'

async function limited<Proof>(
  { store, viewer }: Visit,
  way: ProofWay,
  problem: string,
  check: () => Promise<Proof | undefined>,
): Promise<Proof | string> {
  const attempt = guessesAt(store).begin(`${way} ${viewer.session.id}`)
  if (attempt.waitMs > 0) return tooManyAttempts(attempt)
  const proof = await check().catch((error: unknown) => {
    attempt.refund()
    throw error
  })
  if (proof === undefined) return problem
  attempt.refund()
  return proof
}

/** Sessions of two stores may have the same identifier. */
const guesses = new WeakMap<Store, Attempts>()

function guessesAt(store: Store): Attempts {
  const known = guesses.get(store) ?? new Attempts()
  guesses.set(store, known)
  return known
}
