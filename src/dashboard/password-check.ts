import type { PasswordProof } from '../accounts/browser-sessions.ts'
import { verifyPassword } from '../accounts/passwords.ts'
import type { Store } from '../store/index.ts'
import { Attempts, tooManyAttempts } from './attempts.ts'
import type { Visit } from './page.ts'

/** Checks the password of the viewer, or says what is wrong. Limits guesses in a browser that was left signed in, for each session. */
export async function checkPassword({ store, viewer }: Visit, password: string): Promise<PasswordProof | string> {
  const { accountId, id, username } = viewer.session
  const attempt = guessesAt(store).begin(String(id))
  if (attempt.waitMs > 0) return tooManyAttempts(attempt)
  const proof = await verifyPassword(store, username, password)
  if (proof?.accountId !== accountId) return 'The password is not right.'
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
