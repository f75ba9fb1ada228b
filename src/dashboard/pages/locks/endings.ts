import type { LockSession } from '../../../contract/lock-sessions.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { MINUTE_MS } from '../../../contract/time.ts'
import { lockRecords, type LockStats } from '../../../stats/lock-queries.ts'
import { lockTemplates } from '../../../stats/lock-template-queries.ts'
import type { Visit } from '../../page.ts'
import type { Time } from '../parts.ts'
import { readLock } from './states.ts'
import { latenessOf, overMaximum } from './time.ts'

/** How a lock session differs from what was planned, as far as that is known. */
export type Ending = ReturnType<typeof endingOf>

export function endingOf(
  session: LockStats,
  record: LockSession,
  template: LockTemplate,
  { from, to }: Time = { from: -Infinity, to: Infinity },
) {
  const shown = session.intervals.filter(one => one.start < to && one.end > from)
  const late = latenessOf(session, record, template) ?? 0
  return {
    lateBreaks: shown.filter(one => overMaximum(one, template) > 0).length,
    /** How many milliseconds later than planned it ended. */
    late: Math.abs(late) < MINUTE_MS ? 0 : late,
  }
}

export async function endingsOf(
  { store, pageAccess }: Pick<Visit, 'store' | 'pageAccess'>,
  sessions: readonly LockStats[],
  time: Time,
): Promise<ReadonlyMap<number, Ending>> {
  const used = new Set(sessions.flatMap(({ template }) => template ?? []))
  const ids = sessions.map(({ id }) => id)
  const documents = await lockRecords(store, pageAccess.sessions('lkbx'), ids)
  const templates = await lockTemplates.find(store, pageAccess.ofAll('lock_template'), [...used])
  const endings = sessions.flatMap((session): (readonly [number, Ending])[] => {
    const document = documents.get(session.id)
    const template = session.template === null ? undefined : templates.get(session.template)
    if (document === undefined || template === undefined) return []
    pageAccess.note('lkbx', template.owner)
    return [[session.id, endingOf(session, readLock(document), template.record, time)]]
  })
  return new Map(endings)
}
