import type { PasswordProof } from '../accounts/browser-sessions.ts'
import { verifyPassword } from '../accounts/passwords.ts'
import { Attempts, tooManyAttempts } from './attempts.ts'
import type { Visit } from './page.ts'

/** Checks the password of the viewer, or says what is wrong. Limits guesses in a browser that was left signed in, for each session. */
export async function checkPassword({ store, viewer }: Visit, password: string): Promise<PasswordProof | string> {
  const { accountId, id, username } = viewer.session
  const attempt = guesses.begin(String(id))
  if (attempt.waitMs > 0) return tooManyAttempts(attempt)
  const proof = await verifyPassword(store, username, password)
  if (proof?.accountId !== accountId) return 'The password is not right.'
  attempt.refund()
  return proof
}

const guesses = new Attempts()
