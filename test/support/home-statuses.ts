import type { Status } from '../../src/homeassistant/entities.ts'

const locked: Status = {
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
  lastSessionGradePercent: 0,
  lastSessionReps: 67,
  lastSessionMeters: 12.430125,
  sessionsToday: 0,
  sessionsThisWeek: 1,
  repsThisWeek: 67,
  metersThisWeek: 12.430125,
  streakDays: 4,
  longestStreakDays: 11,
  bestGradePercent: 99,
}

/** What the service answers, and the word for it; undefined where nothing is known. */
export const examples: readonly {
  readonly name: string
  readonly status: Status
  readonly main: string | undefined
}[] = [
  { name: 'locked', status: locked, main: 'locked' },
  { name: 'a break', status: { ...locked, locked: false, lockState: 'break' }, main: 'break' },
  { name: 'an open lock', status: { ...locked, locked: false, lockState: 'locked' }, main: 'open' },
  { name: 'a state of its own', status: { ...locked, locked: false, lockState: 'Held' }, main: 'open' },
  { name: 'a practice lock', status: { ...locked, practiceLock: true }, main: 'practice' },
  { name: 'an unknown template', status: { ...locked, practiceLock: null }, main: 'locked' },
  {
    name: 'hidden time',
    status: { ...locked, timeHidden: true, plannedEnd: null, plannedEndPassed: null },
    main: 'locked',
  },
  {
    name: 'no session',
    status: {
      ...locked,
      locked: false,
      lockState: 'idle',
      lockedSince: null,
      stateSince: null,
      plannedEnd: null,
      plannedEndPassed: null,
    },
    main: 'idle',
  },
  {
    name: 'locks that may not be read',
    status: {
      ...locked,
      locked: null,
      lockState: null,
      lockedSince: null,
      stateSince: null,
      plannedEnd: null,
      plannedEndPassed: null,
      timeHidden: null,
      practiceLock: null,
    },
    main: undefined,
  },
]
