import { LockDevice, TrainingDevice } from '../contract/devices.ts'
import { LockTemplate } from '../contract/lock-templates.ts'
import { TrainingTemplate, TrainingTemplateSummary } from '../contract/training-templates.ts'
import { byOrder, recordWriter } from './canonical.ts'
import { Faults, InvalidError } from './faults.ts'
import { account, deletion, partnership } from './account-kinds.ts'
import { templateColumns } from './derived-columns.ts'
import { type Kind, record, stored } from './kind.ts'
import { Notes } from './notes.ts'
import { flag, instant, optionalInteger, owned, zeroes } from './record-fields.ts'
import { lockSession, trainingSession } from './session-kinds.ts'
import type { JsonObject } from './values.ts'

const writeLockTemplate = recordWriter(LockTemplate)

const lockTemplate = record('lock-template', {
  schema: LockTemplate,
  columns: ['at', 'is_test_lock', 'is_time_displayed'],
  read: (data, _envelope, notes) => {
    const random = data['isRandomDuration'] === true
    const faults = new Faults()
    for (const field of ['minDuration', 'maxDuration']) {
      if (random && (data[field] ?? null) === null) {
        faults.add(new InvalidError('is required when the duration is random', field))
      } else if (!random) faults.collect(() => optionalInteger(data, field))
    }
    // Missing fields were reported above.
    const bounds = random ? { minDuration: data['minDuration'] ?? 0, maxDuration: data['maxDuration'] ?? 0 } : NO_BOUNDS
    const document = faults.collect(() => writeLockTemplate({ ...data, ...bounds }, notes)) ?? ''
    faults.throwIfAny()
    return { ...owned(data), at: instant(data, 'createdAt'), ...templateColumns(data), ...stored(document) }
  },
})

const NO_BOUNDS = { minDuration: null, maxDuration: null }

const writeLockDevice = recordWriter(LockDevice)

const lockDevice = record('lock-device', {
  schema: LockDevice,
  read: (data, _envelope, notes) => {
    const document = writeLockDevice({ ...data, ...zeroes(data, ['hueShift']) }, notes)
    return { ...owned(data), ...stored(document) }
  },
})

const writeTrainingDevice = recordWriter(TrainingDevice)

const trainingDevice = record('training-device', {
  schema: TrainingDevice,
  read: (data, _envelope, notes) => {
    const document = writeTrainingDevice({ ...data, ...zeroes(data, ['serialNumber', 'apiHits']) }, notes)
    return { ...owned(data), ...stored(document) }
  },
})

/** The format does not say of which type this id is. */
const anyType = ['toyId']
const writeTrainingTemplate = recordWriter(TrainingTemplate, { sort: { Segment: byOrder }, anyType })
const writeSummary = recordWriter(TrainingTemplateSummary, { ignored: ['Segment'], anyType })

const trainingTemplate = record('training-template', {
  schema: TrainingTemplate,
  columns: ['at', 'is_public', 'is_active', 'summary'],
  read: (data, _envelope, notes) => {
    const document = writeTrainingTemplate(data, notes)
    return {
      ...owned(data),
      at: instant(data, 'createdDate'),
      is_public: flag(data, 'isPublic'),
      is_active: flag(data, 'isActive'),
      summary: writeSummary(data, new Notes()),
      ...stored(document),
    }
  },
})

/** All kinds in the order of an export: accounts come before their references. */
export const kinds: readonly Kind[] = [
  account,
  partnership,
  deletion,
  lockTemplate,
  lockDevice,
  trainingDevice,
  trainingTemplate,
  lockSession,
  trainingSession,
]

/** The kind of a record, by the fields that no other kind has; undefined if they do not agree. */
export function kindByFields(record: JsonObject): string | undefined {
  const found = Object.keys(record).map(field =>
    kinds.filter(({ schema }) => schema !== undefined && Object.hasOwn(schema.properties, field)),
  )
  const own = new Set(found.flatMap(([kind, ...others]) => (kind === undefined || others.length > 0 ? [] : kind.name)))
  const [name] = own
  return own.size === 1 ? name : undefined
}
