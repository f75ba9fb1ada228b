import type { TObject } from 'typebox'
import { LockDevice, TrainingDevice } from '../../contract/devices.ts'
import { LockSession } from '../../contract/lock-sessions.ts'
import { LockTemplate } from '../../contract/lock-templates.ts'
import { User } from '../../contract/people.ts'
import { TrainingSession } from '../../contract/training-sessions.ts'
import { TrainingTemplate } from '../../contract/training-templates.ts'
import type { JsonObject } from '../values.ts'

/** What the API sends, by the kind of its lines in an archive. */
const schemas: Readonly<Record<string, TObject>> = {
  account: User,
  'lock-template': LockTemplate,
  'lock-device': LockDevice,
  'training-device': TrainingDevice,
  'training-template': TrainingTemplate,
  'lock-session': LockSession,
  'training-session': TrainingSession,
}

/** The kind of each field that only records of one kind have. */
const kindOfField = new Map(
  Map.groupBy(
    Object.entries(schemas).flatMap(([kind, { properties }]) =>
      Object.keys(properties).map(field => ({ kind, field })),
    ),
    ({ field }) => field,
  )
    .values()
    .flatMap(([first, ...others]) =>
      first === undefined || others.length > 0 ? [] : [[first.field, first.kind] as const],
    ),
)

/** The kind of a record, by the fields that no other kind has; undefined if they do not agree. */
export function kindByFields(record: JsonObject): string | undefined {
  const kinds = new Set(Object.keys(record).flatMap(field => kindOfField.get(field) ?? []))
  const [kind] = kinds
  return kinds.size === 1 ? kind : undefined
}
