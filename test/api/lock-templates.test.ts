// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertData, assertRefused, backwards, idsOf } from '../support/responses.ts'
import { lockSession, lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { people, testSharing } from '../support/sharing.ts'

const weekend = {
  id: 7,
  ownerId: 1,
  name: 'Weekend “long” 🔒',
  duration: 172_800,
  isRandomDuration: true,
  minDuration: 86_400,
  maxDuration: 259_200,
  isBreakEnabled: true,
  breakRegularity: 43_200,
  breakMaximum: 1800,
  breakPenalty: 600,
  breakKeyholderOnly: false,
  isDeepthroatEnabled: true,
  deepthroatTimeReduction: 300,
  isShameEnabled: true,
  shameTimeAdd: 120,
  isEmergencyUnlockEnabled: true,
  isPublic: false,
  isPubliclyListed: false,
  isTestLock: false,
  isTimeDisplayed: true,
  createdAt: '2026-01-05T09:30:00.250Z',
}

const asImported = (template: object) => ({
  kind: 'lock-template',
  data: backwards({ ...template, createdAt: '2026-01-05T10:30:00.250+01:00', madeUpField: 1 }),
})

test('a lock template has the fields of the specification in their order, and nothing else', async () => {
  await using service = await startService([...world, asImported(weekend)])
  assertData(await service.fetch('/api/v1/lkbx/templates/7', 'ann'), weekend)
  assertData(await service.fetch('/api/v1/lkbx/templates', 'ann'), {
    data: [weekend],
    pagination: { limit: 50, offset: 0 },
  })
})

test('the shortest and longest duration are null when the duration is not random', async () => {
  await using service = await startService([...world, asImported({ ...weekend, isRandomDuration: false })])
  const answer = await service.fetch('/api/v1/lkbx/templates/7', 'ann')
  assertData(answer, { ...weekend, isRandomDuration: false, minDuration: null, maxDuration: null })
})

testSharing({
  path: '/api/v1/lkbx/templates',
  resourceName: 'Lock template',
  record: (id, owner) => lockTemplate(id, owner),
})

test('a lock template that is marked public is not shown to strangers', async () => {
  const open = lockTemplate(7, 1, { isPublic: true, isPubliclyListed: true })
  await using service = await startService([...world, open])
  assertRefused(await service.fetch('/api/v1/lkbx/templates/7', 'cas'), 404, 'not_found')
  assert.deepEqual(idsOf(await service.fetch('/api/v1/lkbx/templates', 'cas')), [])
})

const active = (id: number, ownerId: number, templateId?: number, startDate = '2026-02-01T00:00:00Z') =>
  lockSession(id, ownerId, { isActive: true, startDate }, templateId === undefined ? {} : { templateId })

// The caller is Dee, who reads Eve's records; 44 is Dee's template, 55 Eve's, 11 a stranger's.
const inUse: readonly { title: string; sessions: readonly object[]; template: number | null }[] = [
  { title: 'of the active lock session', sessions: [active(1, 4, 44)], template: 44 },
  { title: 'of an account that gave the caller access', sessions: [active(1, 4, 55)], template: 55 },
  { title: 'null without a lock session', sessions: [], template: null },
  {
    title: 'null when no lock session is active',
    sessions: [lockSession(1, 4, {}, { templateId: 44 })],
    template: null,
  },
  { title: 'null when the session was started without a template', sessions: [active(1, 4)], template: null },
  { title: 'null when the template is gone', sessions: [active(1, 4, 99)], template: null },
  { title: 'null when the template is out of reach', sessions: [active(1, 4, 11)], template: null },
  { title: "null when only somebody else's session is active", sessions: [active(1, 5, 55)], template: null },
  {
    title: 'of the newest active session',
    sessions: [active(2, 4, 55, '2026-02-01T00:00:00Z'), active(1, 4, 44, '2026-02-02T00:00:00Z')],
    template: 44,
  },
  {
    title: 'of the active session with the highest id where two started at once',
    sessions: [active(2, 4, 44), active(1, 4, 55)],
    template: 44,
  },
  {
    title: 'null when the newest active session has none, whatever older ones have',
    sessions: [active(1, 4, 44, '2026-02-01T00:00:00Z'), active(2, 4, undefined, '2026-02-02T00:00:00Z')],
    template: null,
  },
  {
    title: 'of the active session, also when a newer one is over',
    sessions: [active(1, 4, 44), lockSession(2, 4, { startDate: '2026-02-02T00:00:00Z' }, { templateId: 55 })],
    template: 44,
  },
]

for (const { title, sessions, template } of inUse) {
  test(`the active lock template is ${title}`, async () => {
    const templates = [lockTemplate(44, 4), lockTemplate(55, 5), lockTemplate(11, 1, { isPublic: true })]
    await using service = await startService([...people, ...templates, ...sessions])
    const answer = await service.fetch('/api/v1/lkbx/templates/active', 'dee')
    assertData(answer, template === null ? null : templates.find(({ data }) => data.id === template)?.data)
  })
}
