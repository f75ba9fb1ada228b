import type { Static, TSchema } from 'typebox'
import { kinds } from '../../src/archive/kinds.ts'
import { archiveLines } from '../archive-lines.ts'
import { LockSessionWithTemplate } from '../../src/contract/lock-sessions.ts'
import { type Account, people, type Token, User } from '../../src/contract/people.ts'
import {
  type LockTotals,
  LockStatistics,
  type StatisticsSources,
  type TrainingTotals,
  TrainingStatistics,
} from '../../src/contract/statistics.ts'
import { AccessLists, type GivenAccess, Read, type ReceivedAccess } from '../../src/contract/sharing.ts'
import { Status } from '../../src/contract/status.ts'
import { TrainingSessionWithOwner } from '../../src/contract/training-sessions.ts'
import { TrainingTemplate, TrainingTemplateSummary } from '../../src/contract/training-templates.ts'

/** The example of a record in the reference: one of those below, else that of its archive. Throws if there is none. */
export function exampleOf(schema: TSchema): unknown {
  const kind = kinds.find(one => one.schema === schema)
  const example = examples.get(schema) ?? archiveLines().find(line => line.kind === kind?.name)?.data
  if (example === undefined) throw new Error('a record of the contract has no example')
  return example
}

const lockSession: Static<typeof LockSessionWithTemplate> = {
  id: 4810,
  bubbleId: '1768644000000x481000000000000000',
  publicId: 'QK7M2',
  ownerId: 7,
  name: 'Weekend',
  lockState: 'completed',
  duration: 172_800,
  startDate: '2026-02-14T18:00:00Z',
  isActive: false,
  LockSegment: [
    { id: 90_211, type: 'start', createdAt: '2026-02-14T18:00:00Z', isLocked: true },
    { id: 90_254, type: 'break', createdAt: '2026-02-15T18:05:00Z', isLocked: false },
    { id: 90_255, type: 'locked', createdAt: '2026-02-15T18:32:10.250Z', isLocked: true },
    { id: 90_301, type: 'unlocked', createdAt: '2026-02-16T18:00:00Z', isLocked: false },
  ],
  endDate: '2026-02-16T18:00:00Z',
  createdAt: '2026-02-14T17:58:41Z',
}

const trainingTemplateSummary: Static<typeof TrainingTemplateSummary> = {
  id: 58,
  bubbleId: '1767950000000x058000000000000000',
  ownerId: 7,
  name: 'Steady pace',
  description: 'A warm-up, then repetitions at an even pace.',
  tagline: 'Ten minutes, no hurry',
  message: 'Take your time.',
  isPublic: true,
  isActive: true,
  handsFreeMode: false,
  targetDepth: 120,
  targetWindow: 15,
  toyId: 21,
  createdDate: '2026-01-09T12:00:00Z',
  updatedAt: '2026-02-01T08:15:30Z',
  toyTagline: null,
  iconId: 4,
}

const { toyTagline = null, iconId = null, ...facts } = trainingTemplateSummary

const trainingTemplate: Static<typeof TrainingTemplate> = {
  ...facts,
  Segment: [
    { id: 601, type: 'warmup', duration: 120, repeat: 1, order: 1, speed: 20, passFailEnabled: false },
    { id: 602, type: 'repetition', duration: 40, repeat: 2, order: 2, speed: 35, passFailEnabled: true },
  ],
  toyTagline,
  iconId,
}

const trainingSession: Static<typeof TrainingSessionWithOwner> = {
  id: 1207,
  bubble_id: '1771264800000x120700000000000000',
  name: 'Steady pace',
  passed: true,
  created_at: '2026-02-16T18:00:00Z',
  trainer_id: 21,
  settings_id: 58,
  TrainerSegment: [
    {
      id: 15_501,
      type: 'warmup',
      passed: true,
      percentGrade: 100,
      points: 20,
      durationMeasured: 120,
      durationTarget: 120,
      repsMeasured: 30,
      repsTarget: 30,
      distanceTravelled: 5.4,
      order: 1,
    },
    {
      id: 15_502,
      type: 'repetition',
      passed: true,
      percentGrade: 92,
      points: 46,
      durationMeasured: 171,
      durationTarget: 180,
      repsMeasured: 37,
      repsTarget: 40,
      distanceTravelled: 7.030125,
      order: 2,
      strokeLength: 95,
    },
  ],
  repsMeasured: 67,
  distanceTravelled: 12.430125,
}

const user: Static<typeof User> = {
  id: 7,
  username: 'ann',
  accountType: 'user',
  subscriptionTier: 'ultra',
  league: 2,
  rank: 14,
  totalPoints: 5230,
  matchPoints: 310,
  profileImage: null,
  profileDescription: null,
  profileTitle: null,
}

const account: Static<typeof Account> = { ...user, subscriptionEndsAt: '2027-01-01T00:00:00Z' }

const token: Static<typeof Token> = {
  id: 3,
  name: 'Spreadsheet',
  last4: 'x3Qa',
  scopes: ['lkbx:read', 'dtt:read', 'shared:access'],
  createdAt: '2026-01-15T10:00:00Z',
  expiresAt: '2027-01-15T10:00:00Z',
  lastUsedAt: null,
}

const received: Static<typeof ReceivedAccess> = {
  accountId: 8,
  username: 'ben',
  areas: ['dtt'],
  recordsFrom: '2026-02-01',
  until: null,
  since: '2026-02-10T09:30:00Z',
}

const given: Static<typeof GivenAccess> = {
  ...received,
  areas: ['lkbx', 'dtt'],
  recordsFrom: null,
  lastReadAt: '2026-02-16T18:00:00Z',
}

const read: Static<typeof Read> = {
  id: 12,
  hour: '2026-02-16T18:00:00Z',
  readerId: 8,
  reader: 'ben',
  via: 'token',
  tokenName: null,
  area: 'dtt',
  kind: 'list',
  count: 4,
}

const status: Static<typeof Status> = {
  ownerId: 7,
  timeZone: 'Europe/Berlin',
  asOf: '2026-02-16T18:00:00Z',
  locked: true,
  lockState: 'locked',
  lockedSince: '2026-02-14T18:00:00Z',
  stateSince: '2026-02-15T18:32:10.250Z',
  plannedEnd: '2026-02-17T18:00:00Z',
  plannedEndPassed: false,
  timeHidden: false,
  practiceLock: false,
  lastSessionAt: '2026-02-16T18:00:00Z',
  lastSessionPassed: true,
  lastSessionGradePercent: 96,
  lastSessionReps: 67,
  lastSessionMeters: 12.430125,
  sessionsToday: 1,
  sessionsThisWeek: 1,
  repsThisWeek: 67,
  metersThisWeek: 12.430125,
  streakDays: 4,
  longestStreakDays: 11,
  bestGradePercent: 99,
}

const trainingTotals: Static<typeof TrainingTotals> = {
  sessions: 1,
  passed: 1,
  days: 1,
  repsMeasured: 67,
  distanceMeters: 12.430125,
  distanceApproximateMeters: 0,
  distanceUnknownSessions: 0,
  durationMeasured: 291,
  points: 66,
  grades: [
    { type: 'repetition', segments: 1, passed: 1, mean: 92, median: 92, p90: 92, min: 92, max: 92 },
    { type: 'warmup', segments: 1, passed: 1, mean: 100, median: 100, p90: 100, min: 100, max: 100 },
  ],
}

const lockTotals: Static<typeof LockTotals> = {
  started: 0,
  ended: 1,
  lockedSeconds: 68_400,
  breakSeconds: 0,
  openSeconds: 0,
  longestLockedSeconds: 68_400,
  lockedPercent: 100,
}

const range = {
  timeZone: 'Europe/Berlin',
  weekStart: 'monday',
  from: '2026-02-16',
  to: '2026-02-16',
  asOf: '2026-02-16T18:00:00Z',
} as const

const bucket = { date: '2026-02-16', start: '2026-02-15T23:00:00Z', end: '2026-02-16T23:00:00Z', partial: true }

const sources: StatisticsSources = {
  sessions: 1,
  practiceSessions: 0,
  unknownTemplate: 0,
  ungradedSegments: 0,
}

const trainingStatistics: Static<typeof TrainingStatistics> = {
  ...range,
  sources,
  total: trainingTotals,
  buckets: [{ ...bucket, ...trainingTotals }],
  streak: { currentDays: 4, longestDays: 11, longestFrom: '2026-01-20', longestTo: '2026-01-30' },
}

const lockStatistics: Static<typeof LockStatistics> = {
  ...range,
  sources,
  total: lockTotals,
  buckets: [{ ...bucket, ...lockTotals }],
}

const examples = new Map<TSchema, unknown>([
  [LockSessionWithTemplate, lockSession],
  [TrainingTemplate, trainingTemplate],
  [TrainingTemplateSummary, trainingTemplateSummary],
  [TrainingSessionWithOwner, trainingSession],
  [User, user],
  [people.getMe.data, { account, token }],
  [AccessLists, { given: [given], received: [received] }],
  [Read, read],
  [Status, status],
  [TrainingStatistics, trainingStatistics],
  [LockStatistics, lockStatistics],
])
