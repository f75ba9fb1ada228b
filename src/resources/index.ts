import type { Api } from '../contract/index.ts'
import type { Answers } from './answer.ts'
import { answers as devices } from './devices.ts'
import { answers as lockSessions } from './lock-sessions.ts'
import { answers as lockTemplates } from './lock-templates.ts'
import { answers as people } from './people.ts'
import { answers as trainingSessions } from './training-sessions.ts'
import { answers as trainingTemplates } from './training-templates.ts'

/** How each promise of the contract is kept. A promise without an answer does not compile. */
export const answers: Answers<Api> = {
  ...lockTemplates,
  ...lockSessions,
  ...trainingTemplates,
  ...trainingSessions,
  ...devices,
  ...people,
}
