import { devices } from './devices.ts'
import { lockSessions } from './lock-sessions.ts'
import { lockTemplates } from './lock-templates.ts'
import { people } from './people.ts'
import { statistics } from './statistics.ts'
import { status } from './status.ts'
import { trainingSessions } from './training-sessions.ts'
import { trainingTemplates } from './training-templates.ts'

/** The whole API, by operation name, in the order of the reference. */
export const api = {
  ...lockTemplates,
  ...lockSessions,
  ...trainingTemplates,
  ...trainingSessions,
  ...devices,
  ...people,
  ...status,
  ...statistics,
}

export type Api = typeof api
