import { Faults, InvalidError } from './faults.ts'
import { account, partnership } from './account-kinds.ts'
import { templateColumns } from './derived-columns.ts'
import { type Kind, record, stored } from './kind.ts'
import { Notes } from './notes.ts'
import { flag, instant, optionalInteger, owned, zeroes } from './record-fields.ts'
import { writers } from './record-writers.ts'
import { lockSession, trainingSession } from './session-kinds.ts'

const lockTemplate = record('lock-template', {
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
    const document = faults.collect(() => writers.lockTemplate({ ...data, ...bounds }, notes)) ?? ''
    faults.throwIfAny()
    return { ...owned(data), at: instant(data, 'createdAt'), ...templateColumns(data), ...stored(document) }
  },
})

const NO_BOUNDS = { minDuration: null, maxDuration: null }

const lockDevice = record('lock-device', {
  read: (data, _envelope, notes) => {
    const document = writers.lockDevice({ ...data, ...zeroes(data, ['hueShift']) }, notes)
    return { ...owned(data), ...stored(document) }
  },
})

const trainingDevice = record('training-device', {
  read: (data, _envelope, notes) => {
    const document = writers.trainingDevice({ ...data, ...zeroes(data, ['serialNumber', 'apiHits']) }, notes)
    return { ...owned(data), ...stored(document) }
  },
})

const trainingTemplate = record('training-template', {
  columns: ['at', 'is_public', 'is_active', 'summary'],
  read: (data, _envelope, notes) => {
    const document = writers.trainingTemplate(data, notes)
    return {
      ...owned(data),
      at: instant(data, 'createdDate'),
      is_public: flag(data, 'isPublic'),
      is_active: flag(data, 'isActive'),
      summary: writers.trainingTemplateSummary(data, new Notes()),
      ...stored(document),
    }
  },
})

/** All kinds in the order of an export: accounts come before their references. */
export const kinds: readonly Kind[] = [
  account,
  partnership,
  lockTemplate,
  lockDevice,
  trainingDevice,
  trainingTemplate,
  lockSession,
  trainingSession,
]
