import { LockSession } from '../contract/lock-sessions.ts'
import { TrainingSession } from '../contract/training-sessions.ts'
import { byOrder, byTime, recordWriter } from './canonical.ts'
import { Faults, InvalidError } from './faults.ts'
import { isObject, type JsonObject, noteUnknown, roundHalfAway } from './values.ts'
import { gradedColumns, lockEvents, SESSION_COLUMNS, sessionColumns } from './derived-columns.ts'
import { madeHereText, numberOfName, parseMadeHere } from './made-here.ts'
import { type MergeOptions, record, type Row, stored, UnfinishedError } from './kind.ts'
import { type Leniency, Notes } from './notes.ts'
import { flag, identifier, instant, optionalInstant, optionalInteger, owned, text, whole } from './record-fields.ts'

const writeLockSession = recordWriter(LockSession, { sort: { LockSegment: byTime }, planned: ['endDate'] })

export const lockSession = record('lock-session', {
  schema: LockSession,
  envelopeKeys: ['templateId', 'madeHere'],
  written: { templateId: 'template_id', madeHere: 'made_here' },
  columns: ['at', 'lock_state', 'is_active', 'template_id', 'ended_at', 'events', 'made_here'],
  identity: ['etag', 'template_id', 'made_here'],
  merge: (incoming, before, { isArchive }): Row =>
    isArchive || incoming['given'] === 'templateId' ? {} : { template_id: before['template_id'] ?? null },
  read: (data, envelope, notes) => {
    if (data['startDate'] === null) throw unfinished(data, notes, 'not-started')
    const faults = new Faults()
    const templateId = faults.collect(() => optionalInteger(envelope, 'templateId')) ?? null
    const session = withoutRepeated(data, 'templateId', templateId)
    const madeHere = faults.collect(() => madeHereText(envelope)) ?? null
    const document = faults.collect(() => writeLockSession(session, notes)) ?? ''
    faults.throwIfAny()
    const at = instant(data, 'startDate')
    const end = optionalInstant(data, 'endDate')
    // One before the start cannot be meant.
    const endedAt = end !== null && end < at ? null : end
    // The end of an active session is only planned.
    if (endedAt !== null && data['isActive'] !== true) notes.addInstant(endedAt)
    return {
      ...owned(data),
      at,
      lock_state: text(data, 'lockState'),
      is_active: flag(data, 'isActive'),
      template_id: templateId,
      given: envelope['templateId'] === undefined ? null : 'templateId',
      ended_at: endedAt,
      events: lockEvents(data),
      made_here: madeHere,
      ...stored(document),
    }
  },
})

/** The numbers of a result, and the references of a session. */
const NULL_IS_ZERO = [
  'percentGrade',
  'points',
  'durationMeasured',
  'durationTarget',
  'repsMeasured',
  'repsTarget',
  'trainer_id',
  'settings_id',
]

const writeTrainingSession = recordWriter(TrainingSession, {
  sort: { TrainerSegment: byOrder },
  nullIsZero: NULL_IS_ZERO,
  nullIsNoted: ['percentGrade'],
})

export const trainingSession = record('training-session', {
  schema: TrainingSession,
  envelopeKeys: ['ownerId', 'legacyUpload', 'madeHere'],
  written: { ownerId: 'owner_id', madeHere: 'made_here' },
  columns: ['at', 'passed', ...SESSION_COLUMNS, 'made_here'],
  // The owner is not in the document.
  identity: ['etag', 'owner_id', 'made_here'],
  merge: mergeSession,
  read: (data, envelope, notes) => {
    if (data['passed'] === null) throw unfinished(data, notes)
    const faults = new Faults()
    const ownerId = faults.collect(() => identifier(envelope, 'ownerId')) ?? null
    const legacy = faults.collect(() => isLegacy(data, envelope)) ?? false
    const session = withMetrics(withoutRepeated(data, 'ownerId', ownerId), legacy)
    const madeHere = faults.collect(() => madeHereText(envelope)) ?? null
    const document = faults.collect(() => writeTrainingSession(session, notes)) ?? ''
    faults.throwIfAny()
    return {
      id: whole(data, 'id'),
      owner_id: ownerId,
      at: instant(data, 'created_at'),
      passed: flag(data, 'passed'),
      given: envelope['legacyUpload'] === undefined ? null : 'legacyUpload',
      ...columnsOf(session, document, envelope, notes),
      ...namedProgram(session, madeHere),
      made_here: madeHere,
      ...stored(document),
    }
  },
})

/** The program of a session of which only the name is known. */
function namedProgram(session: JsonObject, madeHere: string | null) {
  const name = parseMadeHere(madeHere)?.program
  return name === undefined || session['settings_id'] !== 0 ? {} : { settings_id: numberOfName(name) }
}

/** The derived columns of a session, from the given fields if they were written unchanged. */
function columnsOf(session: JsonObject, document: string, envelope: JsonObject, notes: Notes) {
  const extra = isObject(envelope['extra']) ? envelope['extra'] : {}
  if (notes.leniencies.length === 0 && Object.keys(extra).length === 0) return sessionColumns(session)
  const noted = Object.fromEntries(notes.extra.map(({ pointer, value }) => [pointer, value]))
  // The document was written as JSON of an object.
  return gradedColumns(JSON.parse(document) as JsonObject, { ...extra, ...noted })
}

/** A session without `legacyUpload` keeps its approximate distance, and without extra fields its missing grades. */
function mergeSession(incoming: Row, before: Row, { isArchive }: MergeOptions): Row {
  const keepsMark =
    !isArchive && incoming['given'] !== 'legacyUpload' && incoming['approximate'] === 0 && before['approximate'] === 1
  const keepsGrades = (incoming['extra'] ?? null) === null && String(before['extra']).includes('/percentGrade"')
  if (!keepsMark && !keepsGrades) return {}
  // A document and extra fields are JSON of an object.
  const session = JSON.parse(String(incoming['document'])) as JsonObject
  const extra = JSON.parse(String(incoming['extra'] ?? before['extra'] ?? '{}')) as JsonObject
  const merged = keepsMark ? { ...session, distanceApproximate: true } : session
  const { settings_id: _, ...columns } = gradedColumns(merged, extra)
  return { ...columns, ...stored(writeTrainingSession(merged, new Notes())) }
}

/**
 * Fills in the repetitions and distance of a session: as recorded, else the sum over its segments. Distances are added in
 * whole micrometres, so that the sum does not depend on their order. A distance of null is unknown and left out.
 */
function withMetrics(data: JsonObject, legacy: boolean): JsonObject {
  const { distanceApproximate: _, distanceTravelled, ...rest } = data
  const given = data['TrainerSegment']
  const segments: unknown[] = Array.isArray(given) ? given.map(withoutNullDistance) : []
  const distance =
    distanceTravelled ?? sum(segments, 'distanceTravelled', metres => Math.round(metres * MICROMETRES), MICROMETRES)
  return {
    ...rest,
    ...(Array.isArray(given) ? { TrainerSegment: segments } : {}),
    repsMeasured: data['repsMeasured'] ?? sum(segments, 'repsMeasured', roundHalfAway) ?? 0,
    ...(distance === null ? {} : { distanceTravelled: distance }),
    ...(legacy ? { distanceApproximate: true } : {}),
  }
}

function withoutNullDistance(segment: unknown): unknown {
  if (!isObject(segment) || segment['distanceTravelled'] !== null) return segment
  const { distanceTravelled: _, ...rest } = segment
  return rest
}

const MICROMETRES = 1_000_000

function sum(
  segments: readonly unknown[],
  field: string,
  toInteger: (value: number) => number,
  scale = 1,
): number | null {
  let total: number | null = null
  for (const segment of segments) {
    const value = isObject(segment) ? segment[field] : null
    // Other values are refused when the segment is written.
    if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER) total = (total ?? 0) + toInteger(value)
  }
  if (total === null) return null
  // An inexact sum would depend on the order, so the writer must refuse it.
  return Number.isSafeInteger(total) ? total / scale : Infinity
}

function isLegacy(data: JsonObject, envelope: JsonObject): boolean {
  const legacy = envelope['legacyUpload'] ?? false
  const approximate = data['distanceApproximate'] ?? false
  if (typeof legacy !== 'boolean') throw new InvalidError('must be true or false', 'legacyUpload')
  if (typeof approximate !== 'boolean') throw new InvalidError('must be true or false', 'distanceApproximate')
  return legacy || approximate
}

/** Some sources repeat in the record a field that an archive has in the envelope. */
function withoutRepeated(data: JsonObject, field: string, value: number | null): JsonObject {
  const { [field]: inside, ...rest } = data
  return inside === value ? rest : data
}

/** A session that is not stored may be incomplete, but may not contain names or values that records must not have. */
function unfinished(data: JsonObject, notes: Notes, leniency?: Leniency): UnfinishedError {
  const id = identifier(data, 'id')
  const faults = new Faults()
  noteUnknown(data, new Set(), new Notes(), faults)
  faults.throwIfAny()
  if (leniency !== undefined) notes.leniencies.push(leniency)
  return new UnfinishedError(id)
}
