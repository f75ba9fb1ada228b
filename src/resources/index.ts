import type { Api } from '../contract/index.ts'
import type { Handlers } from './handler.ts'
import { handlers as devices } from './devices.ts'
import { handlers as lockSessions } from './lock-sessions.ts'
import { handlers as lockTemplates } from './lock-templates.ts'
import { handlers as people } from './people.ts'
import { handlers as sharing } from './sharing.ts'
import { handlers as statistics } from './statistics.ts'
import { handlers as status } from './status.ts'
import { handlers as trainingSessions } from './training-sessions.ts'
import { handlers as trainingTemplates } from './training-templates.ts'

/** The handlers of the whole API. An endpoint without one does not compile. */
export const handlers: Handlers<Api> = {
  ...lockTemplates,
  ...lockSessions,
  ...trainingTemplates,
  ...trainingSessions,
  ...devices,
  ...people,
  ...sharing,
  ...status,
  ...statistics,
}
