import type { Static } from 'typebox'
import * as Type from '../vendor/typebox.js'
import { get, page } from './endpoint.ts'
import { Flag, Id, Integer, nullable, record, Text, Timestamp } from './fields.ts'
import { ownerFilter, ownerOrCaller } from './parameters.ts'

export type LockTemplate = Static<typeof LockTemplate>
export const LockTemplate = record('The rules a lock session starts from.', {
  id: Id('Identifier of the template.'),
  ownerId: Id('Identifier of the account that owns it.'),
  name: Text('Name of the template.'),
  duration: Integer('Duration in seconds.'),
  isRandomDuration: Flag('Whether the duration is random.'),
  minDuration: nullable(Integer('Minimum duration in seconds; null when the duration is not random.')),
  maxDuration: nullable(Integer('Maximum duration in seconds; null when the duration is not random.')),
  isBreakEnabled: Flag('Whether breaks are enabled.'),
  breakRegularity: Integer('Break regularity in seconds.'),
  breakMaximum: Integer('Break maximum in seconds.'),
  breakPenalty: Integer('Break penalty in seconds.'),
  breakKeyholderOnly: Flag('Whether breaks are keyholder only.'),
  isDeepthroatEnabled: Flag('Whether deepthroat is enabled.'),
  deepthroatTimeReduction: Integer('Deepthroat time reduction.'),
  isShameEnabled: Flag('Whether shame is enabled.'),
  shameTimeAdd: Integer('Shame time addition.'),
  isEmergencyUnlockEnabled: Flag('Whether emergency unlock is enabled.'),
  isPublic: Flag('Whether it is public. Gives no access to other accounts.'),
  isPubliclyListed: Flag('Whether it is publicly listed. Gives no access to other accounts.'),
  isTestLock: Flag('Whether it is a test lock.'),
  isTimeDisplayed: Flag('Whether the time is displayed.'),
  createdAt: Timestamp('When it was created.'),
})

export const lockTemplates = {
  listLockTemplates: page('/api/v1/lkbx/templates', {
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
