import Type, { type Static } from 'typebox'
import { get, page } from './endpoint.ts'
import { Decimal, Flag, Id, Integer, list, nullable, OpenText, record, Text, Timestamp, whenKnown } from './fields.ts'
import { ownerFilter } from './lock-templates.ts'

const knownKinds = ['warmup', 'training', 'repetition', 'endurance', 'freeform', 'bounce'] as const
export type SegmentKind = (typeof knownKinds)[number]

/** Kinds of a segment, in a program and in the results of a session. */
export const segmentKinds: readonly string[] = knownKinds

/** Whether the length of a segment of this kind is a number of repetitions; of all others it is seconds. */
export function isCounted(kind: string): boolean {
  return kind === 'repetition' || kind === 'bounce'
}

export type TemplateSegment = Static<typeof TemplateSegment>
export const TemplateSegment = record('A part of a training program.', {
  id: Integer('Identifier of the segment.'),
  type: OpenText('Kind of the segment.', segmentKinds),
  duration: Integer('Seconds for timed kinds; repetitions for repetition kinds.'),
  repeat: Integer('How often the segment is repeated.'),
  order: whenKnown(Integer('Place within the program. Absent when the source had none.')),
  speed: whenKnown(Decimal('Pace of the segment. Absent when the source had none.')),
  passFailEnabled: whenKnown(Flag('Whether the segment is graded as passed or not. Absent when the source had none.')),
  passGradeThreshold: whenKnown(Decimal('Grade from which it counts as passed. Absent when the source had none.')),
  failureText: whenKnown(
    nullable(Text('Shown when the segment is not passed; null for none. Absent when the source had none.')),
  ),
})

const facts = {
  id: Id('Identifier of the template.'),
  bubbleId: Text('Secondary identifier.'),
  ownerId: Id('Identifier of the account that owns it.'),
  name: Text('Name of the program.'),
  description: Text('Description of the program.'),
  tagline: Text('One line about the program.'),
  message: Text('Message shown with the program.'),
  isPublic: Flag('Whether any entitled caller can read it by its identifier.'),
  isActive: Flag('Whether it is the program in use.'),
  handsFreeMode: Flag('Whether the program runs hands-free.'),
  targetDepth: Integer('Target position along the depth axis, as the device counts it.'),
  targetWindow: Integer('Tolerance around the target position, as the device counts it.'),
  toyId: nullable(Integer('Identifier of the device; null when no device is set.')),
  createdDate: Timestamp('When it was created.'),
  updatedAt: Timestamp('When it was last changed.'),
}

const tail = {
  toyTagline: whenKnown(nullable(Text('One line about the device; null for none. Absent when the source had none.'))),
  iconId: whenKnown(nullable(Integer('Identifier of the icon; null for none. Absent when the source had none.'))),
}

export type TrainingTemplate = Static<typeof TrainingTemplate>
export const TrainingTemplate = record('A training program with its segments.', {
  ...facts,
  Segment: list('The segments of the program, in order.', TemplateSegment),
  ...tail,
})

export const TrainingTemplateSummary = record('A training program as lists show it: without its segments.', {
  ...facts,
  ...tail,
})

export const trainingTemplates = {
  listTrainingTemplates: page('/api/v1/dtt/templates', {
    summary: 'List training templates',
    description: 'Every training template the caller can read, without segments, newest first.',
    scope: 'dtt:read',
    filters: { ownerId: ownerFilter },
    item: TrainingTemplateSummary,
  }),
  getActiveTrainingTemplate: get('/api/v1/dtt/templates/active', {
    summary: 'Get the active training template',
    description: "The caller's active training template with its segments, or null.",
    scope: 'dtt:read',
    data: Type.Union([TrainingTemplate, Type.Null()]),
  }),
  getTrainingTemplate: get('/api/v1/dtt/templates/:id', {
    summary: 'Get one training template',
    description: 'One training template with its segments. A public one can be read by any entitled caller.',
    scope: 'dtt:read',
    resourceName: 'Training template',
    data: TrainingTemplate,
  }),
}
