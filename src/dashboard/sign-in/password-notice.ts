import { brokenRule, type PasswordRule, passwordRules } from '../../accounts/password-rules.ts'
import { cookie, cookieValue } from '../cookies.ts'
import { html, type Html, nothing } from '../html.ts'
import type { SiteOrigin } from '../origin.ts'
import type { Viewer } from '../page.ts'

/** A notice, on the first page after a sign-in, that the password would be refused if it were new. It keeps working. */

/** The cookie that keeps it for that page; undefined if the password may be used. */
export function passwordNoticeCookie(site: Pick<SiteOrigin, 'secure'>, password: string, username: string) {
  const rule = brokenRule(password, username)
  return rule === undefined ? undefined : cookie(NAME, rule, { maxAge: KEPT_SECONDS, secure: site.secure })
}

export function readPasswordNotice(
  cookies: ReadonlyMap<string, string>,
  site: Pick<SiteOrigin, 'secure'>,
): PasswordRule | undefined {
  const rule = cookieValue(cookies, NAME, site)
  return rule !== undefined && isRule(rule) ? rule : undefined
}

/** Removes it: the page that shows it is sent. */
export function noPasswordNotice({ secure }: Pick<SiteOrigin, 'secure'>): string {
  return cookie(NAME, '', { maxAge: 0, secure })
}

export function passwordNotice({ brokenRule: rule }: Viewer): Html {
  if (rule === undefined) return nothing
  return html`
    <div class="banner" role="status">
      <p>Your password still works, but a new one must not be ${passwordRules[rule]}. <a href="/settings">Choose another one in Settings</a>.</p>
    </div>
  `
}

function isRule(text: string): text is PasswordRule {
  return Object.hasOwn(passwordRules, text)
}

const NAME = 'password-notice'
const KEPT_SECONDS = 600
