import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { importArchive } from '../src/archive/import.ts'
import { kinds } from '../src/archive/kinds.ts'
import { LONGEST_LINE, readLines } from '../src/archive/lines.ts'
import { bytesOf, cut, openStore, totals } from './support/archives.ts'
import {
  account,
  lockDevice,
  lockSegment,
  lockSession,
  lockTemplate,
  partnership,
  templateSegment,
  trainerSegment,
  trainingDevice,
  trainingSession,
  trainingTemplate,
  world,
} from './support/records.ts'
import { startService, unlimited } from './support/service.ts'

const pathOf: Readonly<Record<string, string>> = {
  account: '/api/v1/users',
  'lock-template': '/api/v1/lkbx/templates',
  'lock-device': '/api/v1/lkbx',
  'training-device': '/api/v1/dtt',
  'training-template': '/api/v1/dtt/templates',
  'lock-session': '/api/v1/lkbx/sessions',
  'training-session': '/api/v1/dtt/sessions',
}

const complete = {
  account: {
    id: 1,
    username: 'ann',
    accountType: 'support',
    subscriptionTier: 'founder',
    league: 3,
    rank: 17,
    totalPoints: 12_345,
    matchPoints: -5,
    profileImage: 'https://example.org/ann.png',
    profileDescription: 'Zeile "eins"\nzwei \\ drei / \u2028 \u{1F512}',
    profileTitle: '',
  },
  'lock-template': lockTemplate(11, 1, { isRandomDuration: true, minDuration: 60, maxDuration: 7200 }).data,
  'lock-device': lockDevice(21, 1, { locked: true, hueShift: -30, lastVisited: '2026-02-16T18:00:00.001Z' }).data,
  'training-device': trainingDevice(31, 1).data,
  'training-template': trainingTemplate(41, 1, {
    toyId: 5,
    Segment: [
      templateSegment(1, {
        order: 0,
        speed: 1.5,
        passFailEnabled: true,
        passGradeThreshold: 62.5,
        failureText: 'Again',
      }),
      templateSegment(2, { order: 1, failureText: null }),
    ],
    toyTagline: 'A line',
    iconId: 9,
  }).data,
  'lock-session': lockSession(51, 1, { endDate: '2026-02-01T02:00:00Z', createdAt: '2026-01-31T23:59:59.999Z' }).data,
  'training-session': trainingSession(61, 1, {
    TrainerSegment: [
      trainerSegment(1, {
        distanceTravelled: 1.234567,
        order: 1,
        longestDeepthroat: 1500,
        strokeLength: 80.5,
        speedMeasured: 0.1,
      }),
      trainerSegment(2, { distanceTravelled: null, order: null, longestDeepthroat: null }),
    ],
    repsMeasured: 40,
    distanceTravelled: 1.3,
    distanceApproximate: true,
  }).data,
}

test('a record of every kind is read back over the API exactly as it was imported', async () => {
  const lines = Object.entries(complete).map(([kind, data]) => ({
    kind,
    data,
    ...(kind === 'training-session' ? { ownerId: 1 } : {}),
  }))
  await using service = await startService(lines)
  const token = await service.token('ann')
  for (const [kind, data] of Object.entries(complete)) {
    const { text } = await service.fetch(`${pathOf[kind]}/${data.id}`, token)
    assert.equal(text, `{"ok":true,"data":${JSON.stringify(data)}}`)
  }
})

test('the end of a subscription and a link are imported too', async () => {
  await using service = await startService([
    account(1, 'ann', { subscriptionEndsAt: '2126-01-01T01:00:00+01:00' }),
    account(2, 'ben'),
    partnership(1, 2),
  ])
  const me = await service.fetch('/api/v1/me', await service.token('ann'))
  assert.equal(me.body.data.account.subscriptionEndsAt, '2126-01-01T00:00:00Z')
  const users = await service.fetch('/api/v1/users', await service.token('ben'))
  assert.deepEqual(
    users.body.data.data.map((user: { id: number }) => user.id),
    [1, 2],
  )
})

const results = (...distances: unknown[]) =>
  distances.map((distanceTravelled, index) => trainerSegment(index + 1, { distanceTravelled }))

interface Sent {
  readonly kind: string
  readonly data: { readonly id: number }
}

/** Lines, and the fields they are shown with; undefined where a field must be absent. */
const normalised: readonly (readonly [promise: string, line: (id: number) => Sent, shown: object])[] = [
  [
    'an account has defaults for all but its id and username',
    id => ({ kind: 'account', data: { id, username: 'bare' } }),
    {
      username: 'bare',
      accountType: 'user',
      subscriptionTier: null,
      league: 0,
      rank: 0,
      totalPoints: 0,
      matchPoints: 0,
      profileImage: null,
      profileDescription: null,
      profileTitle: null,
    },
  ],
  [
    'an account has the same defaults where the source has null',
    id => account(id, 'nulls', { accountType: null, subscriptionTier: null, league: null, matchPoints: null }),
    { accountType: 'user', subscriptionTier: null, league: 0, matchPoints: 0 },
  ],
  [
    'text that may not be null is empty where the source has null',
    id => lockDevice(id, 1, { bubbleId: null, macAddress: null }),
    { bubbleId: '', macAddress: '' },
  ],
  [
    'text of a list item that may not be null is empty too',
    id => trainingTemplate(id, 1, { Segment: [templateSegment(1, { type: null })] }),
    { Segment: [templateSegment(1, { type: '' })] },
  ],
  [
    'text that may be null stays null',
    id => trainingTemplate(id, 1, { toyTagline: null, Segment: [templateSegment(1, { failureText: null })] }),
    { toyTagline: null, Segment: [templateSegment(1, { failureText: null })] },
  ],
  [
    'counts of a device are 0 where the source does not know them',
    id => trainingDevice(id, 1, { serialNumber: null, apiHits: undefined }),
    { serialNumber: 0, apiHits: 0 },
  ],
  ['a colour shift is 0 where the source does not know it', id => lockDevice(id, 1, { hueShift: null }), { hueShift: 0 }],
  [
    'an instant with an offset becomes UTC',
    id => lockTemplate(id, 1, { createdAt: '2026-03-01T00:30:00+05:45' }),
    { createdAt: '2026-02-28T18:45:00Z' },
  ],
  [
    'an instant with an offset to the west becomes UTC, across the year',
    id => lockTemplate(id, 1, { createdAt: '2025-12-31T23:59:59.5-23:59' }),
    { createdAt: '2026-01-01T23:58:59.500Z' },
  ],
  [
    'small letters and zeros beyond milliseconds are taken',
    id => lockTemplate(id, 1, { createdAt: '2026-01-01t00:00:00.120000000z' }),
    { createdAt: '2026-01-01T00:00:00.120Z' },
  ],
  [
    'milliseconds are left out where they are zero',
    id => lockTemplate(id, 1, { createdAt: '2024-02-29T23:59:59.000+00:00' }),
    { createdAt: '2024-02-29T23:59:59Z' },
  ],
  [
    'the unknown local offset is UTC',
    id => lockDevice(id, 1, { lastVisited: '2026-01-01T00:00:00-00:00' }),
    { lastVisited: '2026-01-01T00:00:00Z' },
  ],
  [
    'the first and the last instant that four digits can name are kept',
    id => trainingTemplate(id, 1, { createdDate: '0000-01-01T00:00:00Z', updatedAt: '9999-12-31T23:59:59.999Z' }),
    { createdDate: '0000-01-01T00:00:00Z', updatedAt: '9999-12-31T23:59:59.999Z' },
  ],
  [
    'bounds of a duration that is not random become null',
    id => lockTemplate(id, 1, { isRandomDuration: false, minDuration: 5, maxDuration: 10 }),
    { minDuration: null, maxDuration: null },
  ],
  [
    'bounds of a duration that is not random may be missing',
    id => lockTemplate(id, 1, { isRandomDuration: false, minDuration: undefined, maxDuration: undefined }),
    { minDuration: null, maxDuration: null },
  ],
  [
    'bounds of a random duration are kept',
    id => lockTemplate(id, 1, { isRandomDuration: true, minDuration: 0, maxDuration: 10 }),
    { minDuration: 0, maxDuration: 10 },
  ],
  [
    'figures of a session are kept as recorded, whatever its segments say',
    id => trainingSession(id, 1, { repsMeasured: 1, distanceTravelled: 0.5, TrainerSegment: results(1, 2) }),
    { repsMeasured: 1, distanceTravelled: 0.5 },
  ],
  [
    'a recorded distance is kept to its last digit',
    id => trainingSession(id, 1, { distanceTravelled: 1.23456789012345 }),
    { distanceTravelled: 1.23456789012345 },
  ],
  [
    'figures that were not recorded are summed over the segments',
    id => trainingSession(id, 1, { TrainerSegment: results(0.1, 0.2, 0.7) }),
    { repsMeasured: 57, distanceTravelled: 1 },
  ],
  [
    'figures that are null are summed as well',
    id => trainingSession(id, 1, { repsMeasured: null, distanceTravelled: null, TrainerSegment: results(0.1, 0.2) }),
    { repsMeasured: 38, distanceTravelled: 0.3 },
  ],
  [
    'a distance is summed in whole micrometres',
    id => trainingSession(id, 1, { TrainerSegment: results(0.0000004, 0.0000006, 1) }),
    { distanceTravelled: 1.000001 },
  ],
  [
    'segments whose distance is unknown are left out of the sum',
    id => trainingSession(id, 1, { TrainerSegment: results(null, 2.5, undefined) }),
    { distanceTravelled: 2.5 },
  ],
  [
    'a distance of zero is known',
    id => trainingSession(id, 1, { TrainerSegment: results(null, 0) }),
    { distanceTravelled: 0 },
  ],
  [
    'a distance is null when no segment knows it, and each segment says so',
    id => trainingSession(id, 1, { TrainerSegment: results(null, undefined) }),
    {
      distanceTravelled: null,
      TrainerSegment: [trainerSegment(1, { distanceTravelled: null }), trainerSegment(2, { distanceTravelled: null })],
    },
  ],
  [
    'a session without segments has no repetitions and no distance',
    id => trainingSession(id, 1, { TrainerSegment: [] }),
    { repsMeasured: 0, distanceTravelled: null, TrainerSegment: [] },
  ],
  [
    'a session of the legacy upload path is marked as approximate',
    id => trainingSession(id, 1, {}, { legacyUpload: true }),
    { distanceApproximate: true },
  ],
  [
    'a session that says so itself is approximate too',
    id => trainingSession(id, 1, { distanceApproximate: true }, { legacyUpload: false }),
    { distanceApproximate: true },
  ],
  [
    'any other session is not marked',
    id => trainingSession(id, 1, { distanceApproximate: false }, { legacyUpload: false }),
    { distanceApproximate: undefined },
  ],
  [
    'results are sorted by their order',
    id =>
      trainingSession(id, 1, {
        TrainerSegment: [trainerSegment(1, { order: 2.5 }), trainerSegment(2, { order: -1 }), trainerSegment(3, { order: 2 })],
        distanceTravelled: 0,
      }),
    {
      TrainerSegment: [
        trainerSegment(2, { distanceTravelled: null, order: -1 }),
        trainerSegment(3, { distanceTravelled: null, order: 2 }),
        trainerSegment(1, { distanceTravelled: null, order: 2.5 }),
      ],
    },
  ],
  [
    'parts of a program are sorted by their order, equals and those without one as given',
    id =>
      trainingTemplate(id, 1, {
        Segment: [
          templateSegment(1, { order: 5 }),
          templateSegment(2),
          templateSegment(3, { order: 5 }),
          templateSegment(4, { order: 1 }),
        ],
      }),
    {
      Segment: [
        templateSegment(4, { order: 1 }),
        templateSegment(2),
        templateSegment(1, { order: 5 }),
        templateSegment(3, { order: 5 }),
      ],
    },
  ],
  [
    'events are sorted by time, then identifier',
    id =>
      lockSession(id, 1, {
        LockSegment: [
          lockSegment(9, 'break', '2026-02-01T01:00:00Z', false),
          lockSegment(3, 'locked', '2026-02-01T01:00:00Z', true),
          lockSegment(4, 'start', '2026-02-01T01:30:00+01:00', true),
        ],
      }),
    {
      LockSegment: [
        lockSegment(4, 'start', '2026-02-01T00:30:00Z', true),
        lockSegment(3, 'locked', '2026-02-01T01:00:00Z', true),
        lockSegment(9, 'break', '2026-02-01T01:00:00Z', false),
      ],
    },
  ],
  [
    'optional fields are absent where the source has none: lock session',
    id => lockSession(id, 1),
    { endDate: undefined, createdAt: undefined },
  ],
  [
    'the end of a lock session that is known to be open is null',
    id => lockSession(id, 1, { endDate: null }),
    { endDate: null, createdAt: undefined },
  ],
  [
    'optional fields are absent where the source has none: training template',
    id => trainingTemplate(id, 1, { Segment: [templateSegment(1)] }),
    { toyTagline: undefined, iconId: undefined, Segment: [templateSegment(1)] },
  ],
  [
    'optional fields are absent where the source has none: training session',
    id => trainingSession(id, 1, { TrainerSegment: results(1) }),
    { distanceApproximate: undefined, TrainerSegment: results(1) },
  ],
  [
    'values that are not known today pass through open sets',
    id => lockSession(id, 1, { lockState: 'melted', LockSegment: [lockSegment(1, 'thawed', '2026-01-01T00:00:00Z', true)] }),
    { lockState: 'melted', LockSegment: [lockSegment(1, 'thawed', '2026-01-01T00:00:00Z', true)] },
  ],
  [
    'whole numbers may be written as fractions or with exponents; minus zero is zero',
    id => ({ kind: 'lock-template', data: { ...lockTemplate(id, 1).data, duration: 3600.0, breakMaximum: 1e3, breakPenalty: -0 } }),
    { duration: 3600, breakMaximum: 1000, breakPenalty: 0 },
  ],
  [
    'the largest exact numbers are kept',
    id =>
      trainingTemplate(id, 1, {
        targetDepth: Number.MAX_SAFE_INTEGER,
        targetWindow: Number.MIN_SAFE_INTEGER,
        Segment: [templateSegment(1, { speed: 5e-324 })],
      }),
    {
      targetDepth: Number.MAX_SAFE_INTEGER,
      targetWindow: Number.MIN_SAFE_INTEGER,
      Segment: [templateSegment(1, { speed: 5e-324 })],
    },
  ],
  [
    'of duplicate keys the last wins',
    id => {
      const { kind, data } = lockDevice(id, 1)
      // A number as a field's name would come first; these stay in their order.
      return { kind, data: Object.assign(data, { toJSON: undefined }) }
    },
    { bubbleId: 'lock-device-1042' },
  ],
]

test('values are normalised on their way in', async t => {
  const lines = normalised.map(([, line], index) => line(1001 + index))
  // Everybody's records are shown to one reader.
  const bare = lines.filter(({ kind }) => kind === 'account').map(({ data }) => partnership(data.id, 1))
  await using service = await startService([account(1, 'ann'), ...lines, ...bare], unlimited)
  const token = await service.token('ann')
  for (const [index, [promise, , shown]] of normalised.entries()) {
    await t.test(promise, async () => {
      const line = lines[index]
      const { body } = await service.fetch(`${pathOf[line?.kind ?? '']}/${line?.data.id}`, token)
      for (const [field, value] of Object.entries(shown)) assert.deepEqual(body.data[field], value, field)
    })
  }
})
