import type { Static } from 'typebox'
import * as Type from '../vendor/typebox.js'
import { get, page } from './endpoint.ts'
import { Decimal, Flag, Id, Integer, list, nullable, OpenText, record, Text, Timestamp, whenKnown } from './fields.ts'
import { ownerFilter, ownerOrCaller } from './parameters.ts'

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
  repeat: Integer('Number of repetitions of the segment.'),
  order: whenKnown(Integer('Place within the program. Absent when the source had none.')),
  speed: whenKnown(Decimal('Speed. Absent when the source had none.')),
  passFailEnabled: whenKnown(Flag('Whether pass and fail are enabled. Absent when the source had none.')),
  passGradeThreshold: whenKnown(Decimal('Pass grade threshold. Absent when the source had none.')),
  failureText: whenKnown(nullable(Text('Failure text; null for none. Absent when the source had none.'))),
})

const facts = {
  id: Id('Identifier of the template.'),
  bubbleId: Text('Secondary identifier.'),
  ownerId: Id('Identifier of the account that owns it.'),
  name: Text('Name of the program.'),
  description: Text('Description of the program.'),
  tagline: Text('Tagline of the program.'),
  message: Text('Message of the program.'),
  isPublic: Flag('Whether any entitled caller can read it by its identifier.'),
  isActive: Flag('Whether the program is active.'),
  handsFreeMode: Flag('Whether hands-free mode is on.'),
  targetDepth: Integer('Target depth.'),
  targetWindow: Integer('Target window.'),
  toyId: nullable(Integer('Identifier of the device; null when no device is set.')),
  createdDate: Timestamp('When it was created.'),
  updatedAt: Timestamp('When it was last changed.'),
}

const optionalFacts = {
  toyTagline: whenKnown(nullable(Text('Toy tagline; null for none. Absent when the source had none.'))),
  iconId: whenKnown(nullable(Integer('Identifier of the icon; null for none. Absent when the source had none.'))),
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
  listTrainingTemplates: page('/api/v1/dtt/templates', {
    summary: 'List training templates',
    description: 'Every training template the caller can read, without segments, newest first.',
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
    description: 'One training template with its segments. A public one can be read by any entitled caller.',
    scope: 'dtt:read',
    resourceName: 'Training template',
    data: TrainingTemplate,
  }),
}
