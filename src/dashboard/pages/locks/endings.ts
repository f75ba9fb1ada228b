import type { LockSession } from '../../../contract/lock-sessions.ts'
import { MINUTE_MS } from '../../../contract/time.ts'
import { lockRecords } from '../../../stats/lock-queries.ts'
import { lockTemplates } from '../../../stats/lock-template-queries.ts'
import type { Visit } from '../../page.ts'
import type { ShownLocks } from './list.ts'
import { latenessOf, overMaximum } from './time.ts'

/** How many sessions ended later or earlier than planned, and how many breaks were longer than allowed, as far as that is known. */
export interface Endings {
  readonly lateBreaks: number
  readonly later: number
  readonly earlier: number
}

/** Undefined if there are so many sessions that reading all records would take long. */
export async function endingsOf(
  { store, pageAccess }: Pick<Visit, 'store' | 'pageAccess'>,
  { counted, time: { from, to } }: Pick<ShownLocks, 'counted' | 'time'>,
): Promise<Endings | undefined> {
  const used = new Set(counted.flatMap(({ template }) => template ?? []))
  if (counted.length > MAX_SESSIONS || used.size > MAX_TEMPLATES) return undefined
  const ids = counted.map(({ id }) => id)
  const documents = await lockRecords(store, pageAccess.sessions('lkbx'), ids)
  const access = pageAccess.ofAll('lock_template')
  const found = await Promise.all([...used].map(id => lockTemplates.find(store, access, id)))
  const templates = new Map(found.map(template => [template?.record.id, template]))
  let lateBreaks = 0
  const lates = counted.flatMap(session => {
    const document = documents.get(session.id)
    const template = session.template === null ? undefined : templates.get(session.template)
    if (document === undefined || template === undefined) return []
    pageAccess.note('lkbx', template.owner)
    const shown = session.intervals.filter(one => one.start < to && one.end > from)
    lateBreaks += shown.filter(one => overMaximum(one, template.record) > 0).length
    // The archive wrote it in the form of the contract.
    return latenessOf(session, JSON.parse(document) as LockSession, template.record) ?? []
  })
  return {
    lateBreaks,
    later: lates.filter(late => late >= MINUTE_MS).length,
    earlier: lates.filter(late => late <= -MINUTE_MS).length,
  }
}

const MAX_SESSIONS = 400
const MAX_TEMPLATES = 50
