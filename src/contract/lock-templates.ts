import Type, { type Static } from 'typebox'
import { get, page } from './endpoint.ts'
import { Flag, Id, Integer, nullable, record, Text, Timestamp } from './fields.ts'
import { id } from './parameters.ts'

export type LockTemplate = Static<typeof LockTemplate>
export const LockTemplate = record('The rules a lock session starts from.', {
  id: Id('Identifier of the template.'),
  ownerId: Id('Identifier of the account that owns it.'),
  name: Text('Name of the template.'),
  duration: Integer('Lock length in seconds.'),
  isRandomDuration: Flag('Whether the length is drawn between `minDuration` and `maxDuration`.'),
  minDuration: nullable(Integer('Shortest length in seconds; null when the duration is not random.')),
  maxDuration: nullable(Integer('Longest length in seconds; null when the duration is not random.')),
  isBreakEnabled: Flag('Whether breaks are allowed.'),
  breakRegularity: Integer('Seconds from one break to the next.'),
  breakMaximum: Integer('Longest break in seconds.'),
  breakPenalty: Integer('Seconds added when a break runs over.'),
  breakKeyholderOnly: Flag('Whether only a keyholder can grant a break.'),
  isDeepthroatEnabled: Flag('Whether completed tasks shorten the lock.'),
  deepthroatTimeReduction: Integer('Seconds taken off for a completed task.'),
  isShameEnabled: Flag('Whether votes lengthen the lock.'),
  shameTimeAdd: Integer('Seconds added for a vote.'),
  isEmergencyUnlockEnabled: Flag('Whether an emergency unlock is allowed.'),
  isPublic: Flag('Whether its owner marked it public. Opens nothing to other accounts.'),
  isPubliclyListed: Flag('Whether its owner marked it as publicly listed. Opens nothing to other accounts.'),
  isTestLock: Flag('Whether sessions started from it are tests.'),
  isTimeDisplayed: Flag('Whether the remaining time is shown to the wearer.'),
  createdAt: Timestamp('When it was created.'),
})

export const ownerFilter = id('Only records of this account: the caller, or an account that gave the caller access.')

export const lockTemplates = {
  listLockTemplates: page('/api/v1/lkbx/templates', {
    summary: 'List lock templates',
    description: 'Every lock template the caller can read, newest first.',
    scope: 'lkbx:read',
    filters: { ownerId: ownerFilter },
    item: LockTemplate,
  }),
  getActiveLockTemplate: get('/api/v1/lkbx/templates/active', {
    summary: 'Get the template of the active lock session',
    description: "The lock template that the caller's active lock session was started from, or null.",
    scope: 'lkbx:read',
    data: Type.Union([LockTemplate, Type.Null()]),
  }),
  getLockTemplate: get('/api/v1/lkbx/templates/:id', {
    summary: 'Get one lock template',
    scope: 'lkbx:read',
    resourceName: 'Lock template',
    data: LockTemplate,
  }),
}
