import type { BrowserSession } from '../accounts/browser-sessions.ts'
import { listReceivedAccess } from '../accounts/access-lists.ts'
import { readKnownTime } from '../stats/known-time.ts'
import { copiedSoFar } from '../pull/state.ts'
import { cookie, type CookieOptions, cookieValue } from './cookies.ts'
import { readDisplay } from './layout/document.ts'
import type { SignedInViewer, Units, Visit } from './page.ts'
import { knownTimeZone } from '../contract/time-zones.ts'
import type { Store } from '../store/index.ts'

/** The viewer of a session, with the display settings of this browser. Access is looked up on every request. */
export async function viewerOf(
  store: Store,
  session: BrowserSession,
  { cookies, site, now }: Pick<Visit, 'cookies' | 'site' | 'now'>,
): Promise<SignedInViewer> {
  const own = { id: session.accountId, username: session.username }
  const received = await listReceivedAccess(store, session.accountId, now)
  const readable = [own, ...received.map(({ accountId: id, username }) => ({ id, username }))]
  // Without access to somebody else's records, the viewer sees their own.
  const chosen = chosenSubject(cookieValue(cookies, SUBJECT, site), session)
  const found = readable.find(({ id }) => String(id) === chosen)
  const subject = found ?? own
  const { asOf, isPartial } = await readKnownTime(store, own.id, subject.id, now)
  return {
    ...readDisplay(cookies),
    session,
    shared: received.map(({ accountId: ownerId, ...terms }) => ({ ownerId, ...terms })),
    readable,
    subject,
    chosenIsGone: chosen !== undefined && found === undefined,
    asOf,
    copied: isPartial ? await copiedSoFar(store, subject.id) : null,
    timeZone: knownTimeZone(session.timeZone) ?? 'UTC',
    units: isUnits(session.units) ? session.units : 'metric',
  }
}

/** A cookie that keeps whose records somebody looks at. */
export function subjectCookie(session: BrowserSession, subject: number, options: CookieOptions): string {
  return cookie(SUBJECT, `${session.accountId}.${subject}`, options)
}

/** Undefined also if somebody else chose it in this browser. */
function chosenSubject(cookie: string | undefined, { accountId }: BrowserSession): string | undefined {
  const [account, subject] = cookie?.split('.') ?? []
  return account === String(accountId) ? subject : undefined
}

const SUBJECT = 'subject'

export const unitNames: Readonly<Record<Units, string>> = { metric: 'Metres', imperial: 'Feet' }

export function isUnits(text: string): text is Units {
  return Object.hasOwn(unitNames, text)
}
