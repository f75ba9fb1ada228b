import type { LockTemplate } from '../contract/lock-templates.ts'
import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import { ALEX, ROBIN, SAM } from './people.ts'

export const HOUR_S = 3600
const DAY_S = 24 * HOUR_S

/** A lock template of the sample. Lengths are in seconds; a fixed length has no `longest`. */
export interface Rules {
  readonly id: number
  readonly ownerId: number
  readonly name: string
  /** How many days ago it was made. */
  readonly made: number
  readonly shortest: number
  readonly longest?: number
  readonly every: number
  readonly longestBreak: number
  readonly penalty: number
  /** Seconds taken off for a task, and added for a vote; not enabled when left out. */
  readonly taskTakes?: number
  readonly voteAdds?: number
  readonly isTest?: boolean
  readonly isPublic?: boolean
}

const hours = (every: number, minutes: number) => ({ every: every * HOUR_S, longestBreak: minutes * 60 })

export const rules = {
  weekend: lock(41, ALEX, 'Three day lock', 390, 3 * DAY_S, { ...hours(8, 45), penalty: 2 * HOUR_S }),
  week: lock(42, ALEX, 'Five day lock', 385, 5 * DAY_S, { ...hours(12, 60), penalty: 3 * HOUR_S }),
  random: lock(43, ALEX, 'Random lock', 300, 3 * DAY_S, {
    ...hours(10, 45),
    penalty: 2 * HOUR_S,
    longest: 6 * DAY_S,
    taskTakes: 1800,
  }),
  long: lock(44, ALEX, 'Long random lock', 210, 6 * DAY_S, {
    ...hours(12, 90),
    penalty: 6 * HOUR_S,
    longest: 9 * DAY_S,
    voteAdds: 900,
  }),
  test: lock(45, ALEX, 'Test lock', 200, HOUR_S, { ...hours(0, 0), penalty: 0, isTest: true }),
  robin: lock(46, ROBIN, 'Two day lock', 180, 2 * DAY_S, { ...hours(10, 60), penalty: HOUR_S }),
  robinRandom: lock(47, ROBIN, 'Random lock', 120, DAY_S, { ...hours(10, 60), penalty: HOUR_S, longest: 4 * DAY_S }),
  sam: lock(48, SAM, 'Reference lock', 150, DAY_S, { ...hours(6, 30), penalty: HOUR_S, isPublic: true }),
}

function lock(
  id: number,
  ownerId: number,
  name: string,
  made: number,
  shortest: number,
  rest: Omit<Rules, 'id' | 'ownerId' | 'name' | 'made' | 'shortest'>,
): Rules {
  return { id, ownerId, name, made, shortest, ...rest }
}

export function lockTemplates(midnight: number): LockTemplate[] {
  return Object.values(rules).map(rule => {
    const { shortest, longest = null } = rule
    return {
      id: rule.id,
      ownerId: rule.ownerId,
      name: rule.name,
      duration: longest === null ? shortest : (shortest + longest) / 2,
      isRandomDuration: longest !== null,
      minDuration: longest === null ? null : shortest,
      maxDuration: longest,
      isBreakEnabled: rule.every > 0,
      breakRegularity: rule.every,
      breakMaximum: rule.longestBreak,
      breakPenalty: rule.penalty,
      breakKeyholderOnly: rule.id === rules.long.id,
      isDeepthroatEnabled: rule.taskTakes !== undefined,
      deepthroatTimeReduction: rule.taskTakes ?? 0,
      isShameEnabled: rule.voteAdds !== undefined,
      shameTimeAdd: rule.voteAdds ?? 0,
      isEmergencyUnlockEnabled: true,
      isPublic: rule.isPublic ?? false,
      isPubliclyListed: rule.isPublic ?? false,
      isTestLock: rule.isTest ?? false,
      isTimeDisplayed: longest === null,
      createdAt: formatTimestamp(midnight - rule.made * DAY_MS + 16 * HOUR_S * 1000),
    }
  })
}
