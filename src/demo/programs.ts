import type { SegmentKind } from '../contract/training-templates.ts'
import { ALEX, ROBIN, SAM, trainingDeviceIds } from './people.ts'

export interface Program {
  readonly id: number
  readonly ownerId: number
  readonly name: string
  readonly tagline: string
  /** Days before today: when it was made, last changed, and no longer used (undefined if it is still used). */
  readonly made: number
  readonly changed: number
  readonly ended: number | undefined
  readonly device: number | null
  /** Millimetres, the unit of the devices of the sample. */
  readonly depth: number
  readonly window: number
  /** The grade from which a segment counts as passed. */
  readonly passGrade: number
  readonly parts: readonly Part[]
  readonly isPublic?: boolean
  readonly isActive?: boolean
  readonly handsFree?: boolean
  /** Whether it was made by an old program, which wrote no optional fields. */
  readonly isPlain?: boolean
}

export interface Part {
  readonly type: SegmentKind
  /** Repetitions for kinds that are counted, else seconds. */
  readonly amount: number
  readonly repeat: number
  /** Repetitions a minute. */
  readonly pace: number
}

/** Whether a kind is graded; segments of other kinds are always passed. */
export const isGraded = (type: SegmentKind) => type !== 'warmup' && type !== 'freeform'

const part = (type: SegmentKind, amount: number, pace: number, repeat = 1): Part => ({ type, amount, repeat, pace })

export const programs: readonly Program[] = [
  {
    id: 11,
    ownerId: ALEX,
    name: 'Starter program',
    tagline: 'Short and even',
    made: 380,
    changed: 372,
    ended: 280,
    device: trainingDeviceIds.alexOld,
    depth: 70,
    window: 12,
    passGrade: 66,
    isPlain: true,
    parts: [
      part('warmup', 120, 20),
      part('training', 180, 26, 2),
      part('repetition', 40, 28, 2),
      part('endurance', 60, 12),
      part('freeform', 120, 20),
    ],
  },
  {
    id: 12,
    ownerId: ALEX,
    name: 'Freeform program',
    tagline: 'No targets, no device set',
    made: 340,
    changed: 340,
    ended: undefined,
    device: null,
    depth: 80,
    window: 20,
    passGrade: 60,
    handsFree: true,
    isPlain: true,
    parts: [part('warmup', 180, 20), part('freeform', 300, 24, 3), part('bounce', 30, 50), part('freeform', 180, 20)],
  },
  {
    id: 13,
    ownerId: ALEX,
    name: 'Interval program A',
    tagline: 'Even intervals, one long hold',
    made: 300,
    changed: 24,
    ended: undefined,
    device: trainingDeviceIds.alex,
    depth: 90,
    window: 10,
    passGrade: 70,
    isActive: true,
    parts: [
      part('warmup', 180, 22),
      part('training', 180, 30, 3),
      part('repetition', 60, 32, 2),
      part('endurance', 90, 12),
      part('bounce', 40, 60),
      part('freeform', 120, 20),
    ],
  },
  {
    id: 14,
    ownerId: ALEX,
    name: 'Endurance program',
    tagline: 'Long holds',
    made: 250,
    changed: 60,
    ended: undefined,
    device: trainingDeviceIds.alex,
    depth: 95,
    window: 10,
    passGrade: 65,
    parts: [
      part('warmup', 180, 20),
      part('endurance', 90, 10, 2),
      part('training', 240, 26, 2),
      part('endurance', 150, 10, 2),
      part('freeform', 120, 18),
    ],
  },
  {
    id: 15,
    ownerId: ALEX,
    name: 'Interval program B',
    tagline: 'Shorter and faster than A',
    made: 180,
    changed: 45,
    ended: undefined,
    device: trainingDeviceIds.alex,
    depth: 90,
    window: 8,
    passGrade: 70,
    isPublic: true,
    parts: [
      part('warmup', 120, 24),
      part('bounce', 50, 65, 2),
      part('training', 150, 36, 3),
      part('repetition', 50, 38, 3),
      part('freeform', 90, 20),
    ],
  },
  {
    id: 16,
    ownerId: ROBIN,
    name: 'Evening program',
    tagline: 'A quiet quarter of an hour',
    made: 200,
    changed: 80,
    ended: undefined,
    device: trainingDeviceIds.robin,
    depth: 80,
    window: 12,
    passGrade: 65,
    isActive: true,
    parts: [
      part('warmup', 180, 20),
      part('training', 180, 26, 2),
      part('repetition', 40, 28, 2),
      part('endurance', 60, 12),
      part('freeform', 180, 20),
    ],
  },
  {
    id: 17,
    ownerId: ROBIN,
    name: 'Short program',
    tagline: 'Five minutes',
    made: 120,
    changed: 118,
    ended: undefined,
    device: null,
    depth: 80,
    window: 12,
    passGrade: 65,
    parts: [part('warmup', 90, 20), part('repetition', 50, 30, 2), part('bounce', 30, 55)],
  },
  {
    id: 18,
    ownerId: SAM,
    name: 'Reference program',
    tagline: 'For anybody to read',
    made: 160,
    changed: 150,
    ended: undefined,
    device: null,
    depth: 80,
    window: 15,
    passGrade: 60,
    isPublic: true,
    parts: [
      part('warmup', 120, 20),
      part('training', 180, 24, 2),
      part('repetition', 30, 26),
      part('freeform', 120, 20),
    ],
  },
  {
    id: 19,
    ownerId: SAM,
    name: 'Private program',
    tagline: 'For its owner only',
    made: 140,
    changed: 140,
    ended: undefined,
    device: trainingDeviceIds.sam,
    depth: 75,
    window: 15,
    passGrade: 60,
    isActive: true,
    parts: [part('warmup', 120, 20), part('endurance', 60, 10, 2)],
  },
]
