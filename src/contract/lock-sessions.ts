import type { Static } from 'typebox'
import * as Type from 'typebox'
import { get, listEndpoint } from './endpoint.ts'
import { Flag, Id, Integer, list, nullable, OpenText, record, Text, Timestamp, whenKnown } from './fields.ts'
import { choice, from, ownerFilter, ownerOrCaller, text, to } from './parameters.ts'

export type LockSegment = Static<typeof LockSegment>
export const LockSegment = record('An event in the history of a lock session.', {
  id: Integer('Id of the event.'),
  type: OpenText('Type of the event.', ['start', 'locked', 'break', 'unlocked']),
  createdAt: Timestamp('When it happened.'),
  isLocked: Flag('Whether the lock was closed after it.'),
})

export const lockStates = ['pending', 'locked', 'break', 'completed', 'abandoned'] as const

const session = {
  id: Id('Id of the session.'),
  bubbleId: Text('Second id, as text.'),
  publicId: Text('Public id, as text.'),
  ownerId: Id('Id of the account that owns it.'),
  name: Text('Name of the session.'),
  lockState: OpenText('State of the lock.', lockStates),
  duration: Integer('Length in seconds.'),
  startDate: Timestamp('When it started.'),
  isActive: Flag('Whether the session is active.'),
  LockSegment: list('The events of the session, ordered by time, then by id.', LockSegment),
  endDate: whenKnown(
    nullable(
      Timestamp(
        'When it ended, or, while `isActive`, when it is planned to end; null when neither is known. Absent when the source had none.',
      ),
    ),
  ),
  createdAt: whenKnown(Timestamp('When the record was created. Absent when the source had none.')),
}

export type LockSession = Static<typeof LockSession>
export const LockSession = record('One period under lock, with its history.', session)

export const LockSessionWithTemplate = record('One period under lock, with its history.', {
  ...session,
  templateId: whenKnown(
    nullable(Id('Id of the lock template that it started from; null when unknown. Present with `include=template`.')),
  ),
})

const include = choice('`template` adds `templateId` as the last field of each session.', 'template')

const sessionOrNull = Type.Union([LockSessionWithTemplate, Type.Null()])

export const lockSessions = {
  listLockSessions: listEndpoint('/api/v1/lkbx/sessions', {
    summary: 'List lock sessions',
    description: 'Every lock session the caller can read, with its events, newest `startDate` first.',
    scope: 'lkbx:read',
    filters: { ...ownerFilter, from, to, lockState: text('Only sessions in this state.') },
    options: { include },
    item: LockSessionWithTemplate,
  }),
  getLatestLockSession: get('/api/v1/lkbx/sessions/latest', {
    summary: 'Get the newest lock session',
    description: 'The lock session of the caller, or of `ownerId`, that started last; null when there is none.',
    scope: 'lkbx:read',
    query: { ...ownerOrCaller, include },
    data: sessionOrNull,
  }),
  getLockSession: get('/api/v1/lkbx/sessions/:id', {
    summary: 'Get one lock session',
    scope: 'lkbx:read',
    resourceName: 'Lock session',
    query: { include },
    data: LockSessionWithTemplate,
  }),
  getCurrentLockSession: get('/api/v1/lkbx/session/current', {
    summary: 'Get the active lock session',
    description: 'The active lock session of the caller, or of `ownerId`; null when none is active.',
    scope: 'lkbx:read',
    query: { ...ownerOrCaller, include },
    data: sessionOrNull,
  }),
}
