import { hash } from 'node:crypto'

/** The form in which keys and session cookies are stored. They are long and random, so they need no salt. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}
