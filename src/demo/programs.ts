import { DAY_MS, formatTimestamp, HOUR_MS } from '../contract/time.ts'
import type { SegmentType, TrainingTemplate } from '../contract/training-templates.ts'
import { ALEX, bubbleId, ROBIN, SAM } from './people.ts'

export type Step = ReturnType<typeof stepsOf>[number]

interface Facts {
  readonly id: number
  readonly owner: number
  readonly name: string
  /** How many days before this week it was made. */
  readonly made: number
  readonly device?: number
  /** Millimetres, the unit of the devices of the sample. */
  readonly depth: number
  /** By how much less of its targets is reached than of those of others. */
  readonly strain?: number
}

export type Program = Facts & { readonly steps: readonly Step[] }

export const PASS_GRADE = 68

/** Whether a type is graded; segments of other types are always passed. */
export const isGraded = (type: SegmentType) => type !== 'warmup' && type !== 'freeform'

function stepsOf(written: string) {
  const found = written.matchAll(/(\w+) (\d+)@(\d+)(?: x(\d))?/g)
  return Array.from(found, ([, type, amount, pace, repeat = '1']) => ({
    // The texts below have no other types.
    type: type as SegmentType,
    /** Repetitions for types that are counted, else seconds. */
    amount: Number(amount),
    /** Repetitions a minute. */
    pace: Number(pace),
    repeat: Number(repeat),
  }))
}

/** By the numbers of their programs: a step is written as in `training 180@26 x2`, its amount, its pace, and how often it is run. */
const steps: Readonly<Record<number, string>> = {
  11: 'warmup 120@20, training 180@26 x2, repetition 40@28 x2, endurance 60@12, freeform 120@20',
  12: 'warmup 180@20, freeform 300@24 x3, bounce 30@50, freeform 180@20',
  13: 'warmup 180@22, training 180@30 x3, repetition 60@32 x2, endurance 90@12, bounce 40@60, freeform 120@20',
  14: 'warmup 180@20, endurance 90@10 x2, training 240@26 x2, endurance 150@10 x2, freeform 120@18',
  15: 'warmup 120@24, bounce 50@65 x2, training 150@36 x3, repetition 50@38 x3, freeform 90@20',
  16: 'warmup 180@20, training 180@26 x2, repetition 40@28 x2, endurance 60@12, freeform 180@20',
  18: 'warmup 120@20, training 180@24 x2, repetition 30@26, freeform 120@20',
}

const facts: readonly Facts[] = [
  { id: 11, owner: ALEX, name: 'Starter program', made: 380, depth: 70 },
  { id: 12, owner: ALEX, name: 'Freeform program', made: 340, depth: 80 },
  { id: 13, owner: ALEX, name: 'Interval program A', made: 300, depth: 90, device: 21 },
  { id: 14, owner: ALEX, name: 'Endurance program', made: 250, depth: 95, device: 21, strain: 0.1 },
  { id: 15, owner: ALEX, name: 'Interval program B', made: 180, depth: 90, device: 21 },
  { id: 16, owner: ROBIN, name: 'Evening program', made: 200, depth: 80, device: 22 },
  { id: 18, owner: SAM, name: 'Reference program', made: 160, depth: 80 },
]

export const programs: readonly Program[] = facts.map(one => ({ ...one, steps: stepsOf(steps[one.id] ?? '') }))

const ACTIVE = [13, 16]
const PUBLIC = [15, 18]

/** The programs as records; `monday` is the start of this week. */
export function trainingTemplates(monday: number): TrainingTemplate[] {
  let segmentId = 0
  return programs.map(({ id, owner, name, made, device = null, depth, steps }) => {
    const created = monday - made * DAY_MS + 17 * HOUR_MS
    return {
      id,
      bubbleId: bubbleId(created, id),
      ownerId: owner,
      name,
      description: 'A program of the sample.',
      tagline: device === null ? 'The same length every time' : 'Short rests between segments',
      message: 'Keep an even pace.',
      isPublic: PUBLIC.includes(id),
      isActive: ACTIVE.includes(id),
      handsFreeMode: false,
      targetDepth: depth,
      targetWindow: 10,
      toyId: device,
      createdDate: formatTimestamp(created),
      updatedAt: formatTimestamp(created + 10 * DAY_MS),
      Segment: steps.map(({ type, amount, pace, repeat }, order) => ({
        id: (segmentId += 1),
        type,
        duration: amount,
        repeat,
        order: order + 1,
        speed: pace,
        passFailEnabled: isGraded(type),
        passGradeThreshold: isGraded(type) ? PASS_GRADE : 0,
        failureText: isGraded(type) ? 'Take a minute, then go on.' : null,
      })),
      toyTagline: device === null ? null : 'Firm',
      iconId: id % 4,
    }
  })
}
