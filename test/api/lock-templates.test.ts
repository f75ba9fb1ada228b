// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertData, assertRefused, backwards, idsOf } from '../support/responses.ts'
import { lockSession, lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { people, testSharing } from '../support/sharing.ts'

const weekend = lockTemplate(7, 1, {
  name: 'Weekend “long” 🔒',
  isRandomDuration: true,
  minDuration: 86_400,
  maxDuration: 259_200,
  createdAt: '2026-01-05T09:30:00.250Z',
}).data

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

const session = (id: number, day: string, templateId: number | null, isActive = true, owner = 4) =>
  lockSession(id, owner, { isActive, startDate: `2026-02-${day}T00:00:00Z` }, { templateId })

test('the active lock template is that of the newest active lock session, if the caller may read it, or null', async () => {
  // The caller is Dee, who reads Eve's records; 44 is Dee's template, 55 Eve's, 11 a stranger's.
  const templates = [lockTemplate(44, 4), lockTemplate(55, 5), lockTemplate(11, 1, { isPublic: true })]
  await using service = await startService([...people, ...templates])
  const expectActive = async (id: number | null, ...sessions: readonly object[]) => {
    await service.import(sessions)
    const answer = await service.fetch('/api/v1/lkbx/templates/active', 'dee')
    assertData(answer, templates.find(({ data }) => data.id === id)?.data ?? null)
  }
  await expectActive(null)
  await expectActive(null, session(1, '01', 44, false), session(2, '09', 55, true, 5))
  await expectActive(44, session(3, '01', 44))
  await expectActive(44, session(20, '20', 55, false))
  await expectActive(55, session(4, '02', 55))
  await expectActive(44, session(5, '02', 44))
  for (const [index, unreadable] of [null, 99, 11].entries()) {
    await expectActive(null, session(6 + index, `0${3 + index}`, unreadable))
  }
})
