import type { LockSession } from '../contract/lock-sessions.ts'
import type { LockTemplate } from '../contract/lock-templates.ts'
import { DAY_MS, formatTimestamp, HOUR_MS, MINUTE_MS } from '../contract/time.ts'
import { ALEX, bubbleId, ROBIN, SAM } from './people.ts'
import { type Random, seeded } from './random.ts'

interface Rule {
  readonly id: number
  readonly ownerId: number
  readonly name: string
  /** How many days before this week it was made. */
  readonly made: number
  /** The shortest and the longest length. */
  readonly days: readonly [number, number]
  /** The longest break; breaks are every half day. */
  readonly minutes: number
  readonly more?: Partial<LockTemplate>
}

const tasks = { isDeepthroatEnabled: true, deepthroatTimeReduction: 1800 }
const votes = { isShameEnabled: true, shameTimeAdd: 900, breakKeyholderOnly: true }
const practice = { isTestLock: true }
const shared = { isPublic: true, isPubliclyListed: true }

const rules = {
  three: { id: 41, ownerId: ALEX, name: 'Three day lock', made: 390, days: [3, 3], minutes: 45 },
  five: { id: 42, ownerId: ALEX, name: 'Five day lock', made: 385, days: [5, 5], minutes: 60 },
  random: { id: 43, ownerId: ALEX, name: 'Random lock', made: 300, days: [3, 6], minutes: 45, more: tasks },
  long: { id: 44, ownerId: ALEX, name: 'Long random lock', made: 210, days: [6, 9], minutes: 90, more: votes },
  eleven: { id: 40, ownerId: ALEX, name: 'Eleven day lock', made: 130, days: [11, 11], minutes: 60 },
  test: { id: 45, ownerId: ALEX, name: 'Test lock', made: 200, days: [1 / 24, 1 / 24], minutes: 0, more: practice },
  robin: { id: 46, ownerId: ROBIN, name: 'Two day lock', made: 180, days: [2, 2], minutes: 60 },
  robinRandom: { id: 47, ownerId: ROBIN, name: 'Random lock', made: 120, days: [1, 4], minutes: 60 },
  sam: { id: 48, ownerId: SAM, name: 'Reference lock', made: 150, days: [1, 1], minutes: 30, more: shared },
} as const satisfies Record<string, Rule>

const DAY_S = 86_400
/** What a break that was too long adds. */
const PENALTY_S = 7200

export function lockTemplates(monday: number): LockTemplate[] {
  return Object.values<Rule>(rules).map(({ id, ownerId, name, made, days: [shortest, longest], minutes, more }) => {
    const isRandom = shortest < longest
    return {
      id,
      ownerId,
      name,
      duration: ((shortest + longest) / 2) * DAY_S,
      isRandomDuration: isRandom,
      minDuration: isRandom ? shortest * DAY_S : null,
      maxDuration: isRandom ? longest * DAY_S : null,
      isBreakEnabled: minutes > 0,
      breakRegularity: minutes > 0 ? DAY_S / 2 : 0,
      breakMaximum: minutes * 60,
      breakPenalty: minutes > 0 ? PENALTY_S : 0,
      breakKeyholderOnly: false,
      isDeepthroatEnabled: false,
      deepthroatTimeReduction: 0,
      isShameEnabled: false,
      shameTimeAdd: 0,
      isEmergencyUnlockEnabled: true,
      isPublic: false,
      isPubliclyListed: false,
      isTestLock: false,
      isTimeDisplayed: !isRandom,
      createdAt: formatTimestamp(monday - made * DAY_MS + 16 * HOUR_MS),
      ...more,
    }
  })
}

/** The lock sessions with the templates that they were started from, the oldest first; the last one runs at `today`. */
export function lockSessions(today: number, monday: number) {
  const random = seeded(40)
  let eventId = 0
  return [...plans()]
    .toSorted((a, b) => b.ago - a.ago)
    .map((plan, index) => {
      const { rule, ago, days, state } = plan
      const id = index + 1
      const start = monday - ago * DAY_MS + Math.round(random.between(18, 21) * 60) * MINUTE_MS
      const events = eventsOf(start, plan, random)
      const happened = events.filter(({ at }) => at <= today)
      // No break is open: the lock that runs is locked.
      if (happened.at(-1)?.type === 'break') happened.pop()
      const data: LockSession = {
        id,
        bubbleId: bubbleId(start, id),
        publicId: `SAMPLE${String(id).padStart(2, '0')}`,
        ownerId: rule.ownerId,
        name: rule.name,
        lockState: state,
        duration: days * DAY_S,
        startDate: formatTimestamp(start),
        endDate: formatTimestamp(events.at(-1)?.at ?? start),
        createdAt: formatTimestamp(start - 180_000),
        isActive: state === 'locked',
        LockSegment: happened.map(({ type, at }) => ({
          id: (eventId += 1),
          type,
          createdAt: formatTimestamp(at),
          isLocked: type === 'start' || type === 'locked',
        })),
      }
      return { templateId: rule.id, data }
    })
}

/** A year of locks of alex with days between them, of which some end early, a short one, and one that runs from Thursday on; a few of the others. */
function* plans(): Generator<Plan> {
  for (let ago = 360, index = 0; ago > 18; index += 1) {
    const known: Rule[] = [rules.three, rules.five, rules.random, rules.long].filter(({ made }) => made > ago)
    const plan = planOf(known[index % known.length] ?? rules.three, ago, index % 8 === 5 ? 0.8 : 1)
    yield plan
    ago -= plan.days + 4 + (index % 3)
  }
  yield planOf(rules.test, 6)
  yield { ...planOf(rules.eleven, 4), state: 'locked' }
  for (const ago of [170, 128]) yield planOf(rules.robin, ago)
  for (const ago of [84, 40, 7]) yield planOf(rules.robinRandom, ago, ago === 84 ? 0.8 : 1)
  yield planOf(rules.sam, 100)
}

/** A lock that starts so many days before this Monday, and takes a share of its length; of a random one, another one each day. */
function planOf(rule: Rule, ago: number, share = 1) {
  const [shortest, longest] = rule.days
  const days = shortest + (ago % (longest - shortest + 1))
  return { rule, ago, days, share, state: share < 1 ? 'abandoned' : 'completed' }
}

type Plan = ReturnType<typeof planOf>

interface Event {
  readonly type: 'start' | 'break' | 'locked' | 'unlocked'
  readonly at: number
}

/** From evening to evening with breaks each half day, of which one in five is left out; of locks of a fixed length a few are too long, which they end later for. */
function eventsOf(start: number, { rule, days, share }: Plan, random: Random): Event[] {
  const events: Event[] = [{ type: 'start', at: start }]
  let end = start + days * DAY_MS * share
  for (let due = start + DAY_MS / 2; rule.minutes > 0 && due < end - 3 * HOUR_MS; due += DAY_MS / 2) {
    if (random.chance(0.2)) continue
    const at = due + random.whole(0, 60) * MINUTE_MS
    const part = random.chance(0.04) ? (rule.days[0] === rule.days[1] ? 1.6 : 1) : random.between(0.4, 1)
    if (part > 1) end += PENALTY_S * 1000
    const minutes = Math.round(rule.minutes * part)
    events.push({ type: 'break', at }, { type: 'locked', at: at + minutes * MINUTE_MS })
  }
  return [...events, { type: 'unlocked', at: end }]
}
