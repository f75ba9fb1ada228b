import { DAY_MS } from '../../../contract/time.ts'
import { isDiskFull } from '../../../archive/quota.ts'
import { type Connection, type Failure, readConnection } from '../../../pull/connections.ts'
import { isOtherSecret } from '../../../pull/stored-key.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Viewer, Visit } from '../../page.ts'
import { agoText, momentText } from '../../text/text.ts'

/** What a connection is doing, and what is wrong with it, in sentences. */

/** What a failure means, and what to do. `since` is as in `since 14:02`. */
type FailureText = (host: string, since: string) => string

const cannotStore: FailureText = host =>
  `${host} sends records that cannot be stored in your account here. Ask whoever runs this service, whose log says why.`

const failureTexts: Readonly<Record<Failure, FailureText>> = {
  away: (host, since) => `${host} has not answered ${since}. There is nothing to do unless its address has changed.`,
  refused: (host, since) =>
    `${host} has refused the key ${since}. It was revoked or has expired there, or that server asks for a subscription now. Make a new key there, and change it here.`,
  'not-api': (host, since) =>
    `${host} has not answered as a server of this API ${since}. It may have moved, or may not be asked any more.`,
  account: cannotStore,
  removed: cannotStore,
  key: () =>
    'The stored key cannot be read any more, as after a restore on another machine, or after a restart where no file holds the secret. Enter it again.',
  'key-expired': () => 'The key was forgotten after a day, before everything was copied. Enter it again to go on.',
  interrupted: () =>
    'Copying has ended early several times, as when memory runs out. Whoever runs this service finds the reason in its log.',
  full: () => 'There is no room for more records: your account has as many as it may. Ask whoever runs this service.',
  'disk-full': () => 'The disk of this service is full, so nothing can be stored. Tell whoever runs it.',
  internal: (_, since) => `Something failed here ${since}, not on the other server. The log of this service says what.`,
}

/** What another key helps against. */
const NEEDS_KEY: readonly string[] = ['refused', 'key', 'key-expired'] satisfies Failure[]

/** The name of a server, which begins a sentence. It may tell as much as a name of a record. */
export function hostOf({ discreet }: Pick<Viewer, 'discreet'>, origin: string): string {
  return discreet ? 'The server' : origin.replace(/^https?:\/\//, '')
}

/** Whether a round is running, or is about to. One that has been due for longer waits for those of others. */
export function isBusy(
  { config, now }: Visit,
  { state, holder, sealed_key: key, secret_id: id, next_at: next }: Connection,
) {
  if (key === null || isOtherSecret(id, config) || isDiskFull(config)) return false
  return state === 'running' || (state === 'due' && holder === null && now - (next ?? now) < SOON_MS)
}

const SOON_MS = 60_000

/** What is wrong, if something is: what it means, what to do, and when it is tried again. */
export function connectionProblem({ viewer, now }: Visit, connection: Connection, completedAt: number | null) {
  const { origin, failure, failing_since: failingSince, refused_since: refusedSince, state, next_at: next } = connection
  if (failure === null) return undefined
  const from = failure === 'refused' ? refusedSince : failingSince
  const since = from === null ? 'lately' : `since ${momentText(viewer, from, now)}`
  // A later version may have stored a code that this one does not know.
  const text = Object.hasOwn(failureTexts, failure) ? failureTexts[failure as Failure] : failureTexts.internal
  const kept =
    completedAt === null
      ? 'What was copied so far is kept.'
      : `Everything up to ${momentText(viewer, completedAt, now)} is kept.`
  const again = state === 'waiting' && next !== null ? ` The next try is ${agoText(viewer, next, now)}.` : ''
  return { text: `${text(hostOf(viewer, origin), since)} ${kept}${again}`, needsKey: NEEDS_KEY.includes(failure) }
}

/** On Overview: that the source has refused the key for a day. Records of others are not from there. */
export async function sourceNotice({ store, viewer, now }: Visit): Promise<Html> {
  const { accountId } = viewer.session
  if (viewer.subject.id !== accountId) return nothing
  const connection = await readConnection(store, accountId)
  const since = connection?.refused_since ?? null
  if (connection === undefined || since === null || now - since < DAY_MS) return nothing
  return html`<p class="warning">${hostOf(viewer, connection.origin)} has refused your key since ${momentText(viewer, since, now)}, so nothing new is copied. <a href="/source">See what to do</a></p>`
}
