import type { Static } from 'typebox'
import * as Type from 'typebox'
import { get, listEndpoint } from './endpoint.ts'
import { Flag, Id, Integer, nullable, record, Text, Timestamp } from './fields.ts'
import { ownerFilter, ownerOrCaller } from './parameters.ts'

export type LockTemplate = Static<typeof LockTemplate>
export const LockTemplate = record('The rules a lock session starts from.', {
  id: Id('Id of the template.'),
  ownerId: Id('Id of the account that owns it.'),
  name: Text('Name of the template.'),
  duration: Integer('Length of a session in seconds.'),
  isRandomDuration: Flag('Whether the length is random, between `minDuration` and `maxDuration`.'),
  minDuration: nullable(Integer('Shortest length in seconds; null when it is not random.')),
  maxDuration: nullable(Integer('Longest length in seconds; null when it is not random.')),
  isBreakEnabled: Flag('Whether breaks are enabled.'),
  breakRegularity: Integer('Break regularity in seconds.'),
  breakMaximum: Integer('Longest break in seconds.'),
  breakPenalty: Integer('Break penalty in seconds.'),
  breakKeyholderOnly: Flag('Whether breaks are for the keyholder only.'),
  isDeepthroatEnabled: Flag('Whether deepthroat is enabled.'),
  deepthroatTimeReduction: Integer('Time that is taken off for deepthroat. The source does not say in which unit.'),
  isShameEnabled: Flag('Whether shame is enabled.'),
  shameTimeAdd: Integer('Time that is added by shame. The source does not say in which unit.'),
  isEmergencyUnlockEnabled: Flag('Whether emergency unlock is enabled.'),
  isPublic: Flag('Whether it is public. Gives no access to other accounts.'),
  isPubliclyListed: Flag('Whether it is publicly listed. Gives no access to other accounts.'),
  isTestLock: Flag('Whether it is for practice. Statistics leave its sessions out.'),
  isTimeDisplayed: Flag(
    'Whether the time is displayed. If not, `/status` and pages hide the planned end from the owner.',
  ),
  createdAt: Timestamp('When it was created.'),
})

export const lockTemplates = {
  listLockTemplates: listEndpoint('/api/v1/lkbx/templates', {
    summary: 'List lock templates',
    description: 'Every lock template the caller can read, newest first.',
    scope: 'lkbx:read',
    filters: ownerFilter,
    item: LockTemplate,
  }),
  getActiveLockTemplate: get('/api/v1/lkbx/templates/active', {
    summary: 'Get the template of the active lock session',
    description: 'The template of the active lock session of the caller, or of `ownerId`; null when there is none.',
    scope: 'lkbx:read',
    query: ownerOrCaller,
    data: Type.Union([LockTemplate, Type.Null()]),
  }),
  getLockTemplate: get('/api/v1/lkbx/templates/:id', {
    summary: 'Get one lock template',
    scope: 'lkbx:read',
    resourceName: 'Lock template',
    data: LockTemplate,
  }),
}
