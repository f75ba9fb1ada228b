import type { WaysHere } from '../accounts/ways.ts'
import type { Visit } from './page.ts'

/** Which ways to sign in work at the address of a visit. */
export function waysHere({ site, oidc }: Pick<Visit, 'site' | 'oidc'>): WaysHere {
  return { rpId: site.rpId, issuer: oidc?.issuer }
}
