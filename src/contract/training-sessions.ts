import type { Static } from 'typebox'
import * as Type from 'typebox'
import { get, listEndpoint } from './endpoint.ts'
import { Decimal, Flag, Id, Integer, list, nullable, OpenText, record, Text, Timestamp, whenKnown } from './fields.ts'
import { choice, flag, from, ownerFilter, ownerOrCaller, to } from './parameters.ts'
import { segmentTypes } from './training-templates.ts'

export type TrainerSegment = Static<typeof TrainerSegment>
export const TrainerSegment = record('The result of one segment of a training session.', {
  id: Integer('Id of the result.'),
  type: OpenText('Type of the segment.', segmentTypes),
  passed: Flag('Whether the segment was passed.'),
  percentGrade: Integer('Grade in percent, usually 0 to 100; 0 when the segment was not graded.'),
  points: Integer('Points of the segment.'),
  durationMeasured: Integer('Measured duration in seconds.'),
  durationTarget: Integer('Target duration in seconds.'),
  repsMeasured: Integer('Complete repetitions: a full cycle of two strokes, half of what the device counts.'),
  repsTarget: Integer('Target number of repetitions.'),
  distanceTravelled: whenKnown(
    Decimal('Metres moved along the depth axis, both directions added. Absent when the source had none.'),
  ),
  order: whenKnown(nullable(Decimal('Place within the session. Absent when the source had none.'))),
  longestDeepthroat: whenKnown(
    nullable(Decimal('Milliseconds in the target zone, cumulative. Absent when the source had none.')),
  ),
  strokeLength: whenKnown(nullable(Decimal('Stroke length in millimetres. Absent when the source had none.'))),
  speedMeasured: whenKnown(
    nullable(Decimal('Measured speed. The source does not say in which unit. Absent when it had none.')),
  ),
})

const session = {
  id: Id('Id of the session.'),
  bubble_id: Text('Second id, as text.'),
  name: Text('Name of the session.'),
  passed: Flag('Whether the session was passed.'),
  created_at: Timestamp('When it was recorded.'),
  trainer_id: Integer('Id of the training device.'),
  settings_id: Integer('Id of the program (training template) that was run.'),
  TrainerSegment: list('The results of its segments, in order.', TrainerSegment),
  repsMeasured: Integer('Complete repetitions of the session: as recorded, else the sum over its segments.'),
  distanceTravelled: whenKnown(
    Decimal(
      'Metres moved along the depth axis, both directions added: as recorded, else the sum over its segments. Absent when no segment knows it.',
    ),
  ),
  distanceApproximate: whenKnown(
    Type.Literal(true, {
      description: 'True if distances may be estimated (sessions of the legacy upload path). Absent otherwise.',
    }),
  ),
}

export type TrainingSession = Static<typeof TrainingSession>
export const TrainingSession = record('One training session with the results of its segments.', session)

export const TrainingSessionWithOwner = record('One training session with the results of its segments.', {
  ...session,
  ownerId: whenKnown(Id('Id of the account that owns it. Present with `include=owner`.')),
})

const include = choice('`owner` adds `ownerId` as the last field of each session.', 'owner')

export const trainingSessions = {
  listTrainingSessions: listEndpoint('/api/v1/dtt/sessions', {
    summary: 'List training sessions',
    description: 'Every training session the caller can read, with the results of its segments, newest first.',
    scope: 'dtt:read',
    filters: { ...ownerFilter, from, to, passed: flag('`true`: only passed sessions. `false`: only failed ones.') },
    options: { include },
    item: TrainingSessionWithOwner,
  }),
  getLatestTrainingSession: get('/api/v1/dtt/sessions/latest', {
    summary: 'Get the newest training session',
    description: 'The newest training session of the caller, or of `ownerId`; null when there is none.',
    scope: 'dtt:read',
    query: { ...ownerOrCaller, include },
    data: Type.Union([TrainingSessionWithOwner, Type.Null()]),
  }),
  getTrainingSession: get('/api/v1/dtt/sessions/:id', {
    summary: 'Get one training session',
    scope: 'dtt:read',
    resourceName: 'Training session',
    query: { include },
    data: TrainingSessionWithOwner,
  }),
}
