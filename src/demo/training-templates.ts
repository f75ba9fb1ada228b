import { DAY_MS, formatTimestamp, HOUR_MS } from '../contract/time.ts'
import { isCounted, type TemplateSegment, type TrainingTemplate } from '../contract/training-templates.ts'
import { isGraded, type Part, type Program, programs } from './programs.ts'
import { bubbleId } from './random.ts'

/** The programs as records, the newest last; `midnight` is the start of today. */
export function trainingTemplates(midnight: number): TrainingTemplate[] {
  let segmentId = 0
  return programs.map(program => {
    const made = midnight - program.made * DAY_MS + MADE_AT_MS
    return {
      id: program.id,
      bubbleId: bubbleId(made, program.id),
      ownerId: program.ownerId,
      name: program.name,
      description: `${program.parts.length} segments, about ${Math.round(secondsOf(program) / 60)} minutes.`,
      tagline: program.tagline,
      message: 'Keep an even pace.',
      isPublic: program.isPublic ?? false,
      isActive: program.isActive ?? false,
      handsFreeMode: program.handsFree ?? false,
      targetDepth: program.depth,
      targetWindow: program.window,
      toyId: program.device,
      createdDate: formatTimestamp(made),
      updatedAt: formatTimestamp(midnight - program.changed * DAY_MS + CHANGED_AT_MS),
      Segment: program.parts.map((part, order) => {
        segmentId += 1
        return templateSegment(program, part, segmentId, order)
      }),
      ...(program.isPlain ? {} : { toyTagline: program.device === null ? null : 'Firm', iconId: program.id % 4 }),
    }
  })
}

const MADE_AT_MS = 17 * HOUR_MS
const CHANGED_AT_MS = 17.5 * HOUR_MS

function templateSegment(program: Program, { type, amount, repeat, pace }: Part, id: number, order: number) {
  const segment: TemplateSegment = { id, type, duration: amount, repeat }
  if (program.isPlain) return segment
  return {
    ...segment,
    order: order + 1,
    speed: pace,
    passFailEnabled: isGraded(type),
    passGradeThreshold: isGraded(type) ? program.passGrade : 0,
    failureText: isGraded(type) ? 'Take a minute, then go on.' : null,
  }
}

function secondsOf({ parts }: Program): number {
  return parts.reduce(
    (sum, { type, amount, repeat, pace }) => sum + repeat * (isCounted(type) ? (amount / pace) * 60 : amount),
    0,
  )
}
