import type { Static } from 'typebox'
import { get } from './endpoint.ts'
import {
  AsOf,
  Decimal,
  Flag,
  Id,
  Integer,
  nullable,
  OpenText,
  record,
  Timestamp,
  whenKnown,
  ZoneName,
} from './fields.ts'
import { lockStates } from './lock-sessions.ts'
import { choice, ownerOrCaller, zoneParameter } from './parameters.ts'

export type Status = Static<typeof Status>
export const Status = record(
  'The present state. A field is null if nothing is known, or if the caller may not read that area.',
  {
    ownerId: Id('Id of the account it is about.'),
    timeZone: ZoneName,
    asOf: AsOf,
    locked: nullable(Flag('Whether the lock is closed now: false in a break, and where no lock session is active.')),
    lockState: nullable(
      OpenText('The `lockState` of the active lock session; `idle` where none is active.', [...lockStates, 'idle']),
    ),
    lockedSince: nullable(Timestamp('When the active lock session started.')),
    stateSince: nullable(Timestamp('When its present interval started, such as a break.')),
    plannedEnd: nullable(Timestamp('When it is planned to end; null also where the time is hidden.')),
    plannedEndPassed: nullable(
      Flag(
        'Whether `plannedEnd` has passed. The lock session is active all the same: only its record ends it. Null where `plannedEnd` is.',
      ),
    ),
    timeHidden: nullable(Flag('Whether its template hides the time from its owner, and so this response does.')),
    practiceLock: nullable(Flag('Whether its template is for practice; null where the template is not known.')),
    lastSessionAt: nullable(Timestamp('When the newest training session was recorded.')),
    lastSessionPassed: nullable(Flag('Whether it was passed.')),
    lastSessionGradePercent: nullable(Integer('The mean grade of its graded segments, rounded half up.')),
    lastSessionReps: nullable(Integer('Its complete repetitions.')),
    lastSessionMeters: nullable(Decimal('Metres moved in it; null where no distance is known.')),
    sessionsToday: nullable(Integer('Training sessions of today.')),
    sessionsThisWeek: nullable(Integer('Training sessions of this week, which begins on Monday.')),
    repsThisWeek: nullable(Integer('Complete repetitions of this week.')),
    metersThisWeek: nullable(
      Decimal('Metres moved this week, estimated ones included; null where no distance is known.'),
    ),
    streakDays: nullable(Integer('Days in a row with a training session, up to today or yesterday.')),
    longestStreakDays: nullable(Integer('The most days in a row with a training session.')),
    bestGradePercent: nullable(Integer('The best mean grade of a training session.')),
    lockedSeconds: whenKnown(nullable(Integer('Seconds since `lockedSince`. Present with `relative=seconds`.'))),
    remainingSeconds: whenKnown(
      nullable(
        Integer(
          'Seconds until `plannedEnd`; null once it has passed. They stand still during a freeze. Present with `relative=seconds`.',
        ),
      ),
    ),
    asOfSeconds: whenKnown(
      nullable(Integer('Seconds since the exact time of `asOf`. Present with `relative=seconds`.')),
    ),
  },
)

export const status = {
  getStatus: get('/api/v1/status', {
    summary: 'Get the status',
    description:
      'One flat object for displays and home automation: the lock, the newest training session, this week, streaks. Its validator changes with events, at midnight and once an hour. If the records are more than an hour old, `lockedSeconds` and `remainingSeconds` are computed for the time up to which the records are known, not for now.',
    scope: 'status:read',
    readType: 'statistics',
    query: {
      ...ownerOrCaller,
      tz: zoneParameter,
      relative: choice(
        '`seconds` adds `lockedSeconds`, `remainingSeconds` and `asOfSeconds`, for devices without a clock.',
        'seconds',
      ),
    },
    data: Status,
  }),
}
