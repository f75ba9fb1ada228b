import type { LockDevice, TrainingDevice } from '../../src/contract/devices.ts'
import { kinds } from '../../src/archive/kinds.ts'
import { archiveLines } from '../../scripts/archive-lines.ts'
import { sourceLists } from '../../src/pull/lists.ts'

/** Lines of an archive with default values; a test passes the values that matter to it. */

export const account = (id: number, username: string, more: object = {}) => ({
  kind: 'account',
  data: { id, username, subscriptionTier: 'ultra', ...more },
})

export const partnership = (ownerId: number, partnerId: number) => ({
  kind: 'partnership',
  data: { ownerId, partnerId },
})

export const deletion = (ownerId: number, kind: string, id: number) => ({
  kind: 'deletion',
  data: { ownerId, kind, id, deletedAt: '2026-03-01T00:00:00Z' },
})

export const lockTemplate = (id: number, ownerId: number, more: object = {}) => ({
  kind: 'lock-template',
  data: {
    id,
    ownerId,
    name: `Template ${id}`,
    duration: 3600,
    isRandomDuration: false,
    minDuration: null,
    maxDuration: null,
    isBreakEnabled: true,
    breakRegularity: 86_400,
    breakMaximum: 1800,
    breakPenalty: 600,
    breakKeyholderOnly: false,
    isDeepthroatEnabled: false,
    deepthroatTimeReduction: 0,
    isShameEnabled: false,
    shameTimeAdd: 0,
    isEmergencyUnlockEnabled: true,
    isPublic: false,
    isPubliclyListed: false,
    isTestLock: false,
    isTimeDisplayed: true,
    createdAt: '2026-01-01T00:00:00Z',
    ...more,
  },
})

export const lockSegment = (id: number, type: string, createdAt: string, isLocked: boolean) => ({
  id,
  type,
  createdAt,
  isLocked,
})

export const lockSession = (id: number, ownerId: number, more: object = {}, envelope: object = {}) => ({
  kind: 'lock-session',
  data: {
    id,
    bubbleId: `lock-${id}`,
    publicId: `public-${id}`,
    ownerId,
    name: `Lock ${id}`,
    lockState: 'completed',
    duration: 7200,
    startDate: '2026-02-01T00:00:00Z',
    isActive: false,
    LockSegment: [lockSegment(id * 10, 'start', '2026-02-01T00:00:00Z', true)],
    ...more,
  },
  ...envelope,
})

export const templateSegment = (id: number, more: object = {}) => ({
  id,
  type: 'training',
  duration: 60,
  repeat: 1,
  ...more,
})

export const trainingTemplate = (id: number, ownerId: number, more: object = {}) => ({
  kind: 'training-template',
  data: {
    id,
    bubbleId: `program-${id}`,
    ownerId,
    name: `Program ${id}`,
    description: 'A program',
    tagline: 'One line',
    message: 'A message',
    isPublic: false,
    isActive: false,
    handsFreeMode: false,
    targetDepth: 10,
    targetWindow: 2,
    toyId: null,
    createdDate: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-02T00:00:00Z',
    Segment: [templateSegment(id * 10, { type: 'warmup' }), templateSegment(id * 10 + 1)],
    ...more,
  },
})

export const trainerSegment = (id: number, more: object = {}) => ({
  id,
  type: 'repetition',
  passed: true,
  percentGrade: 80,
  points: 12,
  durationMeasured: 61,
  durationTarget: 60,
  repsMeasured: 19,
  repsTarget: 20,
  ...more,
})

export const trainingSession = (id: number, ownerId: number, more: object = {}, envelope: object = {}) => ({
  kind: 'training-session',
  data: {
    id,
    bubble_id: `session-${id}`,
    name: `Session ${id}`,
    passed: true,
    created_at: '2026-02-16T18:00:00Z',
    trainer_id: 1,
    settings_id: 1,
    TrainerSegment: [trainerSegment(id * 10)],
    ...more,
  },
  ownerId,
  ...envelope,
})

/** A function that makes records of a kind from the line that the documentation shows of it. */
const makerOf = <Data extends object>(kind: string) => {
  const line = archiveLines().find(line => line.kind === kind)
  return (id: number, ownerId: number, more: object = {}) => ({
    kind,
    data: { ...line?.data, id, ownerId, ...more } as Data,
  })
}

const shownLockDevice = makerOf<LockDevice>('lock-device')
export const lockDevice = (id: number, ownerId: number, more: object = {}) =>
  shownLockDevice(id, ownerId, { locked: false, hueShift: 0, lastVisited: null, ...more })
export const trainingDevice = makerOf<TrainingDevice>('training-device')

/** Functions that make a record of each kind that an account owns. */
const own = [lockTemplate, lockSession, trainingTemplate, trainingSession]
const others = kinds.filter(({ name, isOwned }) => isOwned && !own.some(make => make(1, 1).kind === name))
export const makers = [...own, ...others.map(({ name }) => makerOf(name))]

/** A record of each kind that an account owns, with the same identifier, or the one that is given. */
export const oneOfEach = (id: number, ownerId: number, given: readonly { readonly kind: string }[] = []): object[] =>
  makers.map(make => {
    const record = make(id, ownerId)
    return given.find(({ kind }) => kind === record.kind) ?? record
  })

/** A record of each kind of Ann's, for each endpoint to return. */
export const oneForEachEndpoint = oneOfEach(1, 1, [
  lockSession(1, 1, { isActive: true }, { templateId: 1 }),
  trainingTemplate(1, 1, { isActive: true }),
])

/** A small world: Ann, her partner Ben who may read her records, and Cas, a stranger to both. */
export const world: readonly object[] = [account(1, 'ann'), account(2, 'ben'), account(3, 'cas'), partnership(1, 2)]

/** Where the API has the records of each kind. */
export const pathOf: Readonly<Record<string, string>> = {
  account: '/api/v1/users',
  ...Object.fromEntries(sourceLists.map(({ kind, path }) => [kind, `/api/v1${path}`])),
}
