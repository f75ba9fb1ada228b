import { listReadableAccounts } from '../accounts/accounts.ts'
import type { BrowserSession } from '../accounts/browser-sessions.ts'
import { readKnownTime } from '../stats/known-time.ts'
import type { Store } from '../store/index.ts'
import { readDisplay } from './display.ts'
import type { Units, Viewer } from './page.ts'

/** The viewer of a session, with the display settings of this browser. Access is looked up on every request. */
export async function viewerOf(
  store: Store,
  session: BrowserSession,
  cookies: ReadonlyMap<string, string>,
  now: number,
): Promise<Viewer> {
  const own = { id: session.accountId, username: session.username }
  const readable = [own, ...(await listReadableAccounts(store, session.accountId))]
  // Without access to somebody else's records, the viewer sees their own.
  const subject = readable.find(({ id }) => String(id) === cookies.get('subject')) ?? own
  const { asOf } = await readKnownTime(store, own.id, subject.id, now)
  return {
    ...readDisplay(cookies),
    session,
    readable,
    subject,
    asOf,
    timeZone: isTimeZone(session.timeZone) ? session.timeZone : 'UTC',
    units: isUnits(session.units) ? session.units : 'metric',
  }
}

export const unitNames: Readonly<Record<Units, string>> = { metric: 'Metres', imperial: 'Feet' }

export function isUnits(text: string): text is Units {
  return Object.hasOwn(unitNames, text)
}

const known = new Map<string, boolean>()

export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z0-9_+/-]{1,64}$/.test(name)) return false
  let is = known.get(name)
  if (is === undefined) {
    try {
      // Offsets such as +02:00 are refused, as they have no summer time.
      is = /^[A-Z]/i.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== ''
    } catch {
      is = false
    }
    if (known.size < MAX_CACHED_ZONES) known.set(name, is)
  }
  return is
}

const MAX_CACHED_ZONES = 1000
