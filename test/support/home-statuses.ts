import { exampleOf } from '../../scripts/openapi/examples.ts'
import { Status as StatusSchema } from '../../src/contract/status.ts'
import type { Status } from '../../src/homeassistant/entities.ts'

/** Zero is a value as any other. */
const locked: Status = { ...(exampleOf(StatusSchema) as Status), lastSessionGradePercent: 0, sessionsToday: 0 }

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
