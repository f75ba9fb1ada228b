import { listReads } from '../../../accounts/read-log-queries.ts'
import { HOUR_MS } from '../../../contract/time.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit } from '../../page.ts'
import { agoText, countText } from '../../text/text.ts'

interface Begun {
  readonly at: number
}

/**
 * What somebody else has recorded since the viewer last looked at it here: before this hour, because the log of reads counts by
 * hours. Nothing for one's own records, and at the first look.
 */
export async function sinceLastLook(
  { store, viewer, now }: Visit,
  trained: readonly Begun[],
  locked: readonly Begun[],
): Promise<Html> {
  const { accountId: readerId } = viewer.session
  if (viewer.subject.id === readerId) return nothing
  const beforeAt = now - (now % HOUR_MS)
  const reads = await listReads(store, viewer.subject.id, { readerId, beforeAt, limit: MAX_READS })
  const last = reads.find(({ via }) => via === 'dashboard')
  if (last === undefined) return nothing
  const since = last.hour + HOUR_MS
  const countOf = (records: readonly Begun[]) => records.filter(({ at }) => at >= since && at <= now).length
  const [sessions, locks] = [countOf(trained), countOf(locked)]
  const news = [
    ...(sessions === 0 ? [] : [countText(sessions, 'training session')]),
    ...(locks === 0 ? [] : [countText(locks, 'lock')]),
  ]
  const text = news.length === 0 ? 'nothing new' : news.join(' and ')
  return html`<span class="news"><strong>Since you last looked, ${agoText(since, now)}: ${text}</strong></span><br>`
}

/** Keys of the viewer read in between. */
const MAX_READS = 200
