import type { IncomingRecord } from '../archive/batch-importer.ts'
import { lockSessions, type SourceList, trainingSessions } from './lists.ts'
import type { SourceData } from './rows.ts'

/** Makes a record from what a source sent: moves the fields that an archive has in the envelope out of the data. */
export function toRecord(
  list: SourceList,
  data: SourceData,
  {
    owner,
    sendsLegacy = false,
    isAssumed = false,
  }: { readonly owner: number | undefined; readonly sendsLegacy?: boolean; readonly isAssumed?: boolean },
): IncomingRecord {
  if (list === lockSessions) {
    const { templateId, ...rest } = data
    return { kind: list.kind, data: rest, envelope: templateId === undefined ? {} : { templateId } }
  }
  if (list !== trainingSessions) return { kind: list.kind, data }
  const { ownerId: _, legacyUpload, ...rest } = data
  const legacy = legacyUpload ?? rest['distanceApproximate'] ?? (sendsLegacy ? false : undefined)
  return {
    kind: list.kind,
    data: rest,
    envelope: {
      ...(owner === undefined ? {} : { ownerId: owner }),
      ...(legacy === undefined ? {} : { legacyUpload: legacy }),
      // Tells in archives that the source did not name the owner.
      ...(isAssumed ? { extra: { '/ownerId': null } } : {}),
    },
  }
}
