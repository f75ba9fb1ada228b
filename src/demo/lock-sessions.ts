import type { LockSegment, LockSession } from '../contract/lock-sessions.ts'
import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import { HOUR_S, type Rules, rules } from './lock-templates.ts'
import { bubbleId, publicId, type Random, seeded } from './random.ts'

/** A lock session of the sample, and the template it was started from. */
export interface SampleLockSession {
  readonly templateId: number
  readonly data: LockSession
}

/** Every lock session that had begun by `today`, the oldest first. */
export function sampleLockSessions(today: number, midnight: number): SampleLockSession[] {
  const plans = [...alexPlans(midnight), ...otherPlans(midnight)].toSorted((a, b) => a.start - b.start)
  let segmentId = 0
  return plans.map((plan, index) => {
    const id = index + 1
    const { rule, state, duration, start, end, events, ago } = plan
    const startDate = formatTimestamp(start)
    return {
      templateId: rule.id,
      data: {
        id,
        bubbleId: bubbleId(start, id),
        publicId: publicId(id),
        ownerId: rule.ownerId,
        name: rule.name,
        lockState: state,
        duration,
        startDate,
        isActive: state === 'locked',
        LockSegment: untilNow(events, today).map(({ type, at }): LockSegment => {
          segmentId += 1
          return {
            id: segmentId,
            type,
            createdAt: formatTimestamp(at),
            isLocked: type === 'start' || type === 'locked',
          }
        }),
        // Records of the oldest format have neither an end nor a time of creation.
        ...(ago > 270
          ? {}
          : {
              // While it runs, its end is the planned one.
              endDate: formatTimestamp(state === 'locked' ? start + duration * 1000 : end),
              createdAt: formatTimestamp(start - (120 + (id % 7) * 30) * 1000),
            }),
      },
    }
  })
}

interface Event {
  readonly type: 'start' | 'break' | 'locked' | 'unlocked'
  readonly at: number
}

interface SessionPlan {
  readonly rule: Rules
  readonly state: 'locked' | 'completed' | 'abandoned'
  readonly ago: number
  readonly duration: number
  readonly start: number
  readonly end: number
  readonly events: readonly Event[]
}

const HALF_DAY_S = 12 * HOUR_S
// Days before today.
const HOLIDAY_DAYS = { first: 154, last: 136 }
const TEST_DAY = 6
const ACTIVE_SINCE_DAY = 5

/** A year of lock sessions with days between them, and an active one. */
function* alexPlans(midnight: number): Generator<SessionPlan> {
  const random = seeded(44)
  let ago = 363
  while (ago > TEST_DAY) {
    const choices = [rules.weekend, rules.week, rules.random, rules.long].filter(({ made }) => made > ago)
    const rule = choices[random.whole(0, choices.length - 1)] ?? rules.week
    const plan = planSession(rule, ago, midnight, random, random.chance(0.12) ? 'abandoned' : 'completed')
    const next = ago - Math.ceil((plan.end - plan.start) / DAY_MS) - random.whole(2, 6)
    // Sessions that would overlap the holiday or the last two sessions are left out.
    if (next < HOLIDAY_DAYS.first && ago > HOLIDAY_DAYS.last) ago = HOLIDAY_DAYS.last - 1
    else {
      if (next > TEST_DAY) yield plan
      ago = next
    }
  }
  yield planSession(rules.test, TEST_DAY, midnight, random, 'completed')
  yield planSession(rules.long, ACTIVE_SINCE_DAY, midnight, random, 'locked')
}

function* otherPlans(midnight: number): Generator<SessionPlan> {
  const random = seeded(55)
  for (const ago of [170, 120, 84, 40, 12]) {
    const rule = ago < rules.robinRandom.made ? rules.robinRandom : rules.robin
    yield planSession(rule, ago, midnight, random, ago === 84 ? 'abandoned' : 'completed')
  }
  yield planSession(rules.sam, 100, midnight, random, 'completed')
}

/** A session that starts in the evening; late returns from breaks extend it. */
function planSession(
  rule: Rules,
  ago: number,
  midnight: number,
  random: Random,
  state: SessionPlan['state'],
): SessionPlan {
  const start = midnight - ago * DAY_MS + Math.round(random.between(18, 21.5) * HOUR_S) * 1000
  const { shortest, longest = shortest } = rule
  // A multiple of half days, so that it does not end at night.
  const duration = shortest + random.whole(0, (longest - shortest) / HALF_DAY_S) * HALF_DAY_S
  const completedPart = state === 'abandoned' ? random.between(0.75, 0.95) : 1
  const events: Event[] = [{ type: 'start', at: start }]
  let end = start + Math.round(duration * completedPart) * 1000

  let begin = nextBreak(start, rule, random)
  while (rule.every > 0 && begin < end) {
    const isLate = random.chance(0.08)
    const seconds = Math.round(rule.longestBreak * (isLate ? random.between(1.05, 1.4) : random.between(0.4, 1)))
    const back = begin + seconds * 1000
    if (back >= end) break
    events.push({ type: 'break', at: begin }, { type: 'locked', at: back })
    if (isLate && state !== 'abandoned') end += rule.penalty * 1000
    begin = nextBreak(back, rule, random)
  }
  events.push({ type: 'unlocked', at: end })
  return { rule, state, ago, duration, start, end, events }
}

/** When the next break begins: when it is due, but not at night. */
function nextBreak(since: number, { every }: Rules, random: Random): number {
  const due = since + every * 1000 + Math.round(random.between(0, HOUR_S)) * 1000
  const hour = (due % DAY_MS) / 1000 / HOUR_S
  if (hour >= 6.5 && hour < 22.5) return due
  const day = due - (due % DAY_MS) + (hour < 6.5 ? 0 : DAY_MS)
  return day + Math.round(random.between(6.5, 7.5) * HOUR_S) * 1000
}

/** Events up to now, without an unfinished break: the active session is locked. */
function untilNow(events: readonly Event[], today: number): Event[] {
  const over = events.filter(({ at }) => at <= today)
  return over.at(-1)?.type === 'break' ? over.slice(0, -1) : over
}
