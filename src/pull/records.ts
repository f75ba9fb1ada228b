import type { IncomingRecord } from '../archive/intake.ts'
import { lockSessions, type SourceList, trainingSessions } from './lists.ts'
import type { SourceData } from './rows.ts'

/** Makes the record that is stored of what a source sent: what stands beside `data` in an archive is taken out of it. */
export function toRecord(
  list: SourceList,
  data: SourceData,
  { owner, tellsLegacy }: { readonly owner: number | undefined; readonly tellsLegacy: boolean },
): IncomingRecord {
  if (list === lockSessions) {
    const { templateId, ...rest } = data
    return { kind: list.kind, data: rest, beside: templateId === undefined ? {} : { templateId } }
  }
  if (list !== trainingSessions) return { kind: list.kind, data }
  const { ownerId: _, legacyUpload, ...rest } = data
  const legacy = legacyUpload ?? rest['distanceApproximate'] ?? (tellsLegacy ? false : undefined)
  return {
    kind: list.kind,
    data: rest,
    beside: {
      ...(owner === undefined ? {} : { ownerId: owner }),
      ...(legacy === undefined ? {} : { legacyUpload: legacy }),
    },
  }
}
