import type { FastifyRequest } from 'fastify'
import { clientAddress, networkOf } from '../../http/addresses.ts'
import { KNOWN_BROWSER_MS, knownBrowser, markBrowser } from '../../accounts/known-browsers.ts'
import type { Config } from '../../config.ts'
import { foldedName } from '../../contract/names.ts'
import type { Store } from '../../store/index.ts'
import type { SignInMethod } from '../../store/tables.ts'
import { type Attempt, Attempts } from './attempts.ts'
import { type SiteOrigin, cookie, cookieValue, parseCookies } from '../site.ts'

interface Sender {
  readonly request: FastifyRequest
  readonly site: SiteOrigin
}

/**
 * Limits attempts to sign in. Each sign-in method has limits of its own: somebody who guesses passwords must not lock out people who sign in
 * with a passkey or at the issuer, which cannot be guessed.
 */
export function makeSignInLimits(store: Store, { trustedProxies }: Pick<Config, 'trustedProxies'>) {
  const attempts = new Attempts()
  return {
    /** Counts an attempt: by network and, for a password, by account; or by browser alone, if the account knows the browser. */
    async begin({ request, site }: Sender, method: SignInMethod, username?: string): Promise<Attempt> {
      const mark = cookieValue(parseCookies(request.headers.cookie), KNOWN_BROWSER, site)
      const browser = mark === undefined ? undefined : await knownBrowser(store, mark)
      // A browser known to the account has a limit of its own, which nobody else can use up.
      if (browser !== undefined && (username === undefined || foldedName(username) === foldedName(browser.username))) {
        return attempts.begin(`${method} browser ${browser.name}`)
      }
      const network = `${method} network ${networkOf(clientAddress(request.raw, trustedProxies))}`
      if (username === undefined) return attempts.begin(network)
      return attempts.begin(network, `account ${foldedName(username).slice(0, MAX_ATTEMPT_NAME_LENGTH)}`)
    },
  }
}

/** Marks a browser in which somebody has just signed in to an account. */
export async function knownBrowserCookie(store: Store, { secure }: SiteOrigin, accountId: number): Promise<string> {
  return cookie(KNOWN_BROWSER, await markBrowser(store, accountId), { maxAge: KNOWN_BROWSER_MS / 1000, secure })
}

const MAX_ATTEMPT_NAME_LENGTH = 100
const KNOWN_BROWSER = 'known-browser'
