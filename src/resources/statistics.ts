import { accessToOwner } from '../accounts/access.ts'
import type { Area } from '../contract/areas.ts'
import { ApiError } from '../contract/errors.ts'
import { type RangeParams, readRange, type statistics, type StatisticsSources } from '../contract/statistics.ts'
import { formatTimestamp, type BucketRange, formatDate } from '../contract/time.ts'
import { type Bucket, bucketsOf } from '../stats/buckets.ts'
import { type KnownTime, readKnownTime, countedUntil } from '../stats/known-time.ts'
import { type LockStatistics, lockStatistics } from '../stats/lock-statistics.ts'
import { locksSince, locksWithin } from '../stats/lock-queries.ts'
import { trainingHistory } from '../stats/training-history.ts'
import type { TrainingStatistics } from '../stats/training-statistics.ts'
import { zoneClock } from '../stats/zone-clock.ts'
import { type Caller, type Handlers, jsonResult } from './handler.ts'
import { hourOf } from './status.ts'

export const handlers: Handlers<typeof statistics> = {
  async getTrainingStatistics(caller, params) {
    const { access, range, buckets, known, ownersRead } = await readScope(caller, 'dtt', params)
    const history = await trainingHistory(caller.store, access)
    const filters = { type: params.type, program: params.programId }
    const sums = await history.statistics(filters, range, known.timeZone, caller.now)
    const { current, longest } = sums.streaks
    const { sessions: counted, ungradedSegments } = sums.total
    const data = {
      ...commonFieldsOf(range, known),
      sources: sourcesOf({ sessions: counted, ungradedSegments }),
      total: trainingFields(sums.total),
      buckets: sums.buckets.map((bucket, index) => ({ ...bucketFields(buckets[index]), ...trainingFields(bucket) })),
      streak: {
        currentDays: current?.days ?? 0,
        longestDays: longest?.best.days ?? 0,
        longestFrom: longest?.best.from ?? null,
        longestTo: longest?.best.to ?? null,
      },
    }
    return { ...jsonResult(JSON.stringify(data)), ownersRead }
  },

  async getLockStatistics(caller, params) {
    const { access, range, buckets, known, ownersRead } = await readScope(caller, 'lkbx', params)
    const until = countedUntil(known.asOf, caller.now)
    const [start, end] = [buckets[0]?.start ?? 0, buckets.at(-1)?.end ?? 0]
    const { counted: sessions, ...sources } = locksWithin(
      await locksSince(caller.store, access, until, start),
      { start, end },
      until,
    )
    const [sums] = await lockStatistics(sessions, { since: -Infinity, until }, [buckets])
    const data = {
      ...commonFieldsOf(range, known),
      sources: sourcesOf({ sessions: sessions.length, ...sources }),
      total: lockFields(sums.total),
      buckets: sums.buckets.map((bucket, index) => ({ ...bucketFields(buckets[index]), ...lockFields(bucket) })),
    }
    return { ...jsonResult(JSON.stringify(data)), ownersRead }
  },
}

/** The account and the buckets of a request. Throws ApiError. */
async function readScope(
  caller: Caller,
  area: Area,
  params: RangeParams & { readonly ownerId: number | undefined; readonly tz: string | undefined },
) {
  const { store, now, grant } = caller
  const access = accessToOwner(caller, area, params.ownerId)
  const stored = await readKnownTime(store, grant.accountId, access.owner, now)
  const known = { ...stored, timeZone: params.tz ?? stored.timeZone }
  const clock = zoneClock(known.timeZone)
  const { range, errors } = readRange(params, clock.dayOf(now))
  const [error] = errors
  if (error !== undefined) {
    throw new ApiError('invalid_parameter', `${error.field} ${error.message}`, { fieldErrors: errors })
  }
  const ownersRead = [{ area, owners: [access.owner] }]
  return { access, range, buckets: bucketsOf(range, clock, now), known, ownersRead }
}

function commonFieldsOf({ weekStart, from, to }: BucketRange, { timeZone, asOf }: KnownTime) {
  return { timeZone, weekStart, from: formatDate(from), to: formatDate(to), asOf: hourOf(asOf) }
}

function sourcesOf(counted: Partial<StatisticsSources>): StatisticsSources {
  return { sessions: 0, practiceSessions: 0, unknownTemplate: 0, ungradedSegments: 0, ...counted }
}

function bucketFields(bucket: Bucket | undefined) {
  // The statistics are in the order of the buckets.
  const { day, start, end, partial } = bucket ?? { day: 0, start: 0, end: 0, partial: false }
  return { date: formatDate(day), start: formatTimestamp(start), end: formatTimestamp(end), partial }
}

/** Without what pages show beside. */
function lockFields({ knownSeconds: _known, percent: _percent, ...fields }: LockStatistics) {
  return fields
}

function trainingFields(sums: TrainingStatistics) {
  return {
    sessions: sums.sessions,
    passed: sums.passed,
    days: sums.days,
    repsMeasured: sums.reps,
    distanceMeters: sums.distance / 1_000_000,
    distanceApproximateMeters: sums.approximateDistance / 1_000_000,
    distanceUnknownSessions: sums.unknownDistances,
    durationMeasured: sums.duration,
    points: sums.points,
    grades: sums.grades,
  }
}
