import type { Static } from 'typebox'
import * as Type from 'typebox'
import { get, listEndpoint } from './endpoint.ts'
import { Decimal, Flag, Id, Integer, list, nullable, OpenText, record, Text, Timestamp, whenKnown } from './fields.ts'
import { ownerFilter, ownerOrCaller } from './parameters.ts'

const knownTypes = ['warmup', 'training', 'repetition', 'endurance', 'freeform', 'bounce'] as const
export type SegmentType = (typeof knownTypes)[number]

/** Types of a segment, in a program and in the results of a session. */
export const segmentTypes: readonly string[] = knownTypes

/** Whether the length of a segment of this type is a number of repetitions; of all others it is seconds. */
export function isCounted(type: string): boolean {
  return type === 'repetition' || type === 'bounce'
}

export type TemplateSegment = Static<typeof TemplateSegment>
export const TemplateSegment = record('A part of a training program.', {
  id: Integer('Id of the segment.'),
  type: OpenText('Type of the segment.', segmentTypes),
  duration: Integer('Length: repetitions for the types `repetition` and `bounce`, seconds for all others.'),
  repeat: Integer('How often the segment is run.'),
  order: whenKnown(Integer('Place within the program. Absent when the source had none.')),
  speed: whenKnown(Decimal('Speed. The source does not say in which unit. Absent when it had none.')),
  passFailEnabled: whenKnown(Flag('Whether the segment is graded. Absent when the source had none.')),
  passGradeThreshold: whenKnown(Decimal('Passing grade. Absent when the source had none.')),
  failureText: whenKnown(nullable(Text('Text when it is not passed; null for none. Absent when the source had none.'))),
})

const facts = {
  id: Id('Id of the program; `settings_id` in the sessions that ran it.'),
  bubbleId: Text('Second id, as text.'),
  ownerId: Id('Id of the account that owns it.'),
  name: Text('Name of the program.'),
  description: Text('Description of the program.'),
  tagline: Text('Tagline of the program.'),
  message: Text('Message of the program.'),
  isPublic: Flag('Whether any caller with a subscription tier can read it by its id.'),
  isActive: Flag('Whether the program is active.'),
  handsFreeMode: Flag('Whether hands-free mode is on.'),
  targetDepth: Integer('Target position. The source does not say in which unit.'),
  targetWindow: Integer('Tolerance around `targetDepth`, in the same unit.'),
  toyId: nullable(Integer('Id of the device; null when no device is set.')),
  createdDate: Timestamp('When it was created.'),
  updatedAt: Timestamp('When it was last changed.'),
}

const optionalFacts = {
  toyTagline: whenKnown(nullable(Text('Tagline of the device; null for none. Absent when the source had none.'))),
  iconId: whenKnown(nullable(Integer('Id of the icon; null for none. Absent when the source had none.'))),
}

export type TrainingTemplate = Static<typeof TrainingTemplate>
export const TrainingTemplate = record('A training program with its segments.', {
  ...facts,
  Segment: list('The segments of the program, in order.', TemplateSegment),
  ...optionalFacts,
})

export const TrainingTemplateSummary = record('A training program as lists show it: without its segments.', {
  ...facts,
  ...optionalFacts,
})

export const trainingTemplates = {
  listTrainingTemplates: listEndpoint('/api/v1/dtt/templates', {
    summary: 'List training templates',
    description: 'Every training template (program) the caller can read, without segments, newest first.',
    scope: 'dtt:read',
    filters: ownerFilter,
    item: TrainingTemplateSummary,
  }),
  getActiveTrainingTemplate: get('/api/v1/dtt/templates/active', {
    summary: 'Get the active training template',
    description:
      'The active training template of the caller, or of `ownerId`, with its segments; null when there is none.',
    scope: 'dtt:read',
    query: ownerOrCaller,
    data: Type.Union([TrainingTemplate, Type.Null()]),
  }),
  getTrainingTemplate: get('/api/v1/dtt/templates/:id', {
    summary: 'Get one training template',
    description: 'One training template with its segments. Any caller with a subscription tier can read a public one.',
    scope: 'dtt:read',
    resourceName: 'Training template',
    data: TrainingTemplate,
  }),
}
