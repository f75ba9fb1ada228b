import type { Static } from 'typebox'
import * as Type from 'typebox'
import { type Check, get } from './endpoint.ts'
import type { FieldError } from './errors.ts'
import {
  AsOf,
  Choice,
  Decimal,
  Flag,
  Integer,
  list,
  nullable,
  OpenText,
  record,
  Timestamp,
  ZoneName,
} from './fields.ts'
import { day, id, option, ownerOrCaller, text, zoneParameter } from './parameters.ts'
import {
  DAY_MS,
  type BucketRange,
  type BucketUnit,
  countBuckets,
  rangeBetween,
  type WeekStart,
  weekStarts,
} from './time.ts'
import { segmentTypes } from './training-templates.ts'

const Day = (description: string) => Type.String({ description, format: 'date', examples: ['2026-02-16'] })

const Count = (description: string) => Integer(description, { minimum: 0 })

export type StatisticsSources = Static<typeof StatisticsSources>
const StatisticsSources = record('What the statistics of a range are computed from, and what they leave out.', {
  sessions: Count('Sessions that count in the range.'),
  practiceSessions: Count('Practice locks of the range, which do not count.'),
  unknownTemplate: Count('Lock sessions that count although their template is not known: it could be for practice.'),
  ungradedSegments: Count('Training segments without a grade, which `grades` does not count.'),
})

export const GradeStatistics = record('The grades of the graded segments of one type.', {
  type: OpenText('Type of the segments.', segmentTypes),
  segments: Count('Graded segments.'),
  passed: Count('Those of them that were passed.'),
  mean: Decimal('Mean grade, with one decimal.'),
  median: Integer('Median grade, by nearest rank.'),
  p90: Integer('90th percentile of the grades, by nearest rank.'),
  min: Integer('Lowest grade.'),
  max: Integer('Highest grade.'),
})

const trainingTotals = {
  sessions: Count('Training sessions.'),
  passed: Count('Those of them that were passed.'),
  days: Count('Days with a training session.'),
  repsMeasured: Integer('Complete repetitions.'),
  distanceMeters: Decimal('Metres that were measured.'),
  distanceApproximateMeters: Decimal(
    'Metres that may be estimated: those of the legacy upload path. Not in `distanceMeters`.',
  ),
  distanceUnknownSessions: Count('Sessions of which no distance is known.'),
  durationMeasured: Integer('Seconds in segments.'),
  points: Integer('Points of segments.'),
  grades: list(
    'Grades by type of segment, in the order of the names; types without graded segments are left out.',
    GradeStatistics,
  ),
}

const lockTotals = {
  started: Count('Lock sessions that started.'),
  ended: Count('Lock sessions that ended.'),
  lockedSeconds: Count('Seconds in which a lock was closed. Time counts once, however many sessions overlap.'),
  breakSeconds: Count('Seconds in which no lock was closed, and one was in a break.'),
  openSeconds: Count('Seconds within a session in which no lock was closed or in a break.'),
  longestLockedSeconds: Count(
    'The longest time without interruption in which a lock was closed, as far as it lies here.',
  ),
  lockedPercent: nullable(
    Decimal('`lockedSeconds` of the time that has passed here, in percent with one decimal; null where none has.'),
  ),
}

const bucketFields = {
  date: Day('Its day, or the first day of the week or month, even if the range begins later.'),
  start: Timestamp('When it starts, within the range.'),
  end: Timestamp('When it ends, within the range.'),
  partial: Flag('Whether it is not over yet.'),
}

export const TrainingTotals = record('Training of the whole range.', trainingTotals)
export const TrainingBucket = record('Training of one bucket.', { ...bucketFields, ...trainingTotals })
export const LockTotals = record('Locks of the whole range.', lockTotals)
export const LockBucket = record('Locks of one bucket.', { ...bucketFields, ...lockTotals })

const Streak = record('Days in a row with a training session, over all time.', {
  currentDays: Count('Up to today; up to yesterday while today has none yet.'),
  longestDays: Count('Length of the longest streak.'),
  longestFrom: nullable(Day('First day of the longest; the latest of equals.')),
  longestTo: nullable(Day('Last day of the longest.')),
})

/** The fields of statistics before their counts. */
const statisticsFields = {
  timeZone: ZoneName,
  weekStart: Choice('The day that weeks begin with.', [...weekStarts]),
  from: Day('First day of the range.'),
  to: Day('Last day of the range.'),
  asOf: AsOf,
  sources: StatisticsSources,
}

export const TrainingStatistics = record('Training by hours, days, weeks or months.', {
  ...statisticsFields,
  total: TrainingTotals,
  buckets: list('The buckets of the range, without gaps, the oldest first.', TrainingBucket),
  streak: Streak,
})

export const LockStatistics = record('Locks by hours, days, weeks or months.', {
  ...statisticsFields,
  total: LockTotals,
  buckets: list('The buckets of the range, without gaps, the oldest first.', LockBucket),
})

const rangeParameters = {
  bucket: option('How the range is divided. Hours are those of the local time in `tz`.', [
    'week',
    'hour',
    'day',
    'month',
  ] as const satisfies BucketUnit[]),
  from: day('First day of the range, in `tz`; by default twelve buckets before its end, with hours its last day.'),
  to: day('Last day of the range (inclusive), in `tz`; today by default.'),
  tz: zoneParameter,
  weekStart: option('The day that weeks begin with.', ['monday', 'sunday'] as const satisfies WeekStart[]),
  ...ownerOrCaller,
}

export interface RangeParams {
  readonly bucket: BucketUnit
  readonly from: number | undefined
  readonly to: number | undefined
  readonly weekStart: WeekStart
}

const MAX_BUCKETS = 400

/** The range that these parameters name on the day `today`, and what is wrong with it. */
export function readRange(
  { bucket, ...params }: RangeParams,
  today: number,
): { range: BucketRange; errors: FieldError[] } {
  const range = rangeBetween({ ...params, unit: bucket }, today)
  const errors: FieldError[] = []
  if (range.from > range.to) errors.push({ field: 'from', message: 'must not be after to' })
  else if (countBuckets(range) > MAX_BUCKETS) {
    errors.push({ field: 'from', message: `must not make more than ${MAX_BUCKETS} buckets` })
  }
  return { range, errors }
}

/** Checks what does not depend on the time zone, so that it is reported together with other wrong parameters. */
const checkRange: Check = (values, isWrong, now) => {
  if (['bucket', 'from', 'to', 'weekStart'].some(isWrong)) return []
  // The query has these parameters, and none of them is wrong.
  const params = values as RangeParams
  // An error that occurs both on the earliest and on the latest possible day does not depend on the zone.
  const [earliest, latest] = [now - DAY_MS / 2, now + DAY_MS].map(at => readRange(params, Math.floor(at / DAY_MS)))
  return (earliest?.errors ?? []).filter(({ message }) => latest?.errors.some(error => error.message === message))
}

export const statistics = {
  getTrainingStatistics: get('/api/v1/dtt/stats', {
    summary: 'Get training by hours, days, weeks or months',
    description:
      'Sessions, repetitions, distances, durations, points and grades of the caller, or of `ownerId`, in the buckets of a range and in total, and the streak of days. At most 400 buckets, which are 16 days of hours; empty ones are zero.',
    scope: ['dtt:read', 'status:read'],
    readType: 'statistics',
    isLong: true,
    query: {
      ...rangeParameters,
      type: text('Counts only segments of this type, and only sessions that have one.'),
      programId: id('Only sessions that were run with this program.'),
    },
    data: TrainingStatistics,
    check: checkRange,
  }),
  getLockStatistics: get('/api/v1/lkbx/stats', {
    summary: 'Get locks by hours, days, weeks or months',
    description:
      'Time locked, in breaks and open of the caller, or of `ownerId`, in the buckets of a range and in total. At most 400 buckets, which are 16 days of hours; empty ones are zero. Practice locks do not count.',
    scope: ['lkbx:read', 'status:read'],
    readType: 'statistics',
    isLong: true,
    query: rangeParameters,
    data: LockStatistics,
    check: checkRange,
  }),
}
