import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowRecords, deleteRecords, listDeleted, ownKinds } from '../../src/accounts/deleted-records.ts'
import { eraseDeleted, isErasingDue } from '../../src/accounts/removal.ts'
import { listEvents, OPERATOR } from '../../src/accounts/events.ts'
import { records } from '../support/all-responses.ts'
import { exportOf, importFile, parseLines } from '../support/archives.ts'
import { signInAs } from '../support/dashboard.ts'
import * as lines from '../support/records.ts'
import { decide, settledPage, upload } from '../support/uploads.ts'
import { inBrowser, startService, type TestService, unlimited } from '../support/service.ts'

const session = lines.trainingSession(5, 1, { created_at: '2026-02-16T18:00:00Z' })
const history = [lines.account(1, 'ann'), lines.account(2, 'ben'), session, lines.trainingSession(6, 1)]
const which = { accountId: 1, kind: 'training-session', id: 5 }

const remove = (store: TestService['store'], { accountId, ...one }: typeof which, now = Date.now(), actor = OPERATOR) =>
  deleteRecords(store, { accountId, records: [one] }, now, actor)

const allow = (store: TestService['store'], { accountId, ...one }: typeof which) =>
  allowRecords(store, { accountId, records: [one] }, Date.now())

const statusOf = async (service: TestService, path: string) => (await service.fetch(path, 'ann')).status

test('a record of any kind can be deleted by its owner, once, and stays away until it is allowed again', async () => {
  await using service = await startService(records, unlimited)
  const { store } = service
  const before = await exportOf(service.store)
  for (const { name, table } of ownKinds) {
    const { id, owner_id: accountId } = await store.db
      .selectFrom(table as 'lock_session')
      .select(['id', 'owner_id'])
      .executeTakeFirstOrThrow()
    const one = { accountId, kind: name, id }
    await assert.rejects(remove(store, { ...one, accountId: accountId + 90 }, Date.now()), /no such record/)
    await remove(store, one, Date.now())
    await assert.rejects(remove(store, one, Date.now()), /no such record/, name)
    const { kinds } = await service.import(records, { onConflict: 'replace' })
    assert.equal(kinds.find(({ kind }) => kind === name)?.deleted, 1, name)
    assert.doesNotMatch(await exportOf(service.store), new RegExp(`"kind":"${name}","data":\\{"id":${id},`), name)
    await allow(store, one)
    await assert.rejects(allow(store, one), /no such deleted record/)
    const again = await service.import(records, { onConflict: 'replace' })
    assert.deepEqual(again.kinds.find(({ kind }) => kind === name)?.added, 1, name)
    assert.equal(await exportOf(service.store), before, name)
  }
})

test('a deleted record is out of answers, figures and validators at once', async () => {
  await using service = await startService(history, unlimited)
  const { headers } = await service.fetch('/api/v1/dtt/sessions', 'ann')
  const etag = headers.get('etag') ?? ''
  const figures = async () => (await service.fetch('/api/v1/dtt/stats?from=2026-02-01&to=2026-02-28', 'ann')).body.data
  assert.equal((await figures()).total.sessions, 2)
  await remove(service.store, which, Date.now(), inBrowser)
  assert.equal(await statusOf(service, '/api/v1/dtt/sessions/5'), 404)
  assert.equal((await figures()).total.sessions, 1)
  const next = await service.fetch('/api/v1/dtt/sessions', 'ann', { 'If-None-Match': etag })
  assert.equal(next.status, 200)
  const [event] = await listEvents(service.store, 1, { limit: 1 })
  assert.deepEqual([event?.kind, event?.actor, event?.subject], ['record-deleted', 'self', 'training-session 5'])
})

test('deletions are in an export, and an import of them deletes no record', async () => {
  await using service = await startService(history, unlimited)
  await remove(service.store, which, Date.parse('2026-03-01T00:00:00Z'))
  const archive = await exportOf(service.store, 1)
  assert.match(
    archive,
    /\{"kind":"deletion","data":\{"ownerId":1,"kind":"training-session","id":5,"at":"2026-02-16T18:00:00Z","deletedAt":"2026-03-01T00:00:00Z"\}\}\n/,
  )
  const parsed = parseLines(archive)
  await using other = await startService(parsed, unlimited)
  assert.equal(await exportOf(other.store, 1), archive)
  const { kinds } = await other.import([session])
  assert.equal(kinds.find(({ kind }) => kind === 'training-session')?.deleted, 1)

  await using third = await startService(history, unlimited)
  await third.import(parsed, { onConflict: 'replace' })
  assert.equal(await statusOf(third, '/api/v1/dtt/sessions/5'), 200)
  assert.deepEqual(await listDeleted(third.store, 1, { limit: 10 }), [])
})

test('what is deleted within an hour is erased together, and at the start of the service', async () => {
  await using service = await startService(history, unlimited)
  const { store } = service
  const now = Date.now()
  await remove(store, which, now)
  await remove(store, { ...which, id: 6 }, now + 60_000)
  // PostgreSQL erases by itself.
  if (store.engine === 'postgres') return assert.equal(await isErasingDue(store), false)
  await eraseDeleted(store, now + 3_599_000)
  assert.equal(await isErasingDue(store), true)
  assert.equal(await isErasingDue(store, now + 3_600_000), true)
  await eraseDeleted(store, Infinity)
  assert.equal(await isErasingDue(store), false)
})

test('only its owner sees the button, and a fresh sign-in deletes and allows by the browser', async () => {
  await using service = await startService([...history, lines.partnership(1, 2)], unlimited)
  const ann = await signInAs(service, 'ann')
  const ben = await signInAs(service, 'ben')
  assert.match((await ann.get('/training/5?view=data')).text, /href="\/training\/5\/delete"/)
  assert.doesNotMatch((await ben.get('/training/5')).text, /\/delete"/)
  assert.equal((await ben.post('/training/5/delete', {})).status, 422)
  assert.match((await ann.get('/training/5/delete')).text, /Training sessions: number 5/)
  assert.equal((await ann.post('/training/5/delete', {})).status, 303)
  assert.equal((await ann.get('/training/5')).status, 404)
  assert.match((await ann.get('/settings/deleted')).text, /Restore/)
  assert.equal((await ann.post('/settings/deleted', { kind: 'training-session', id: '5' })).status, 303)
  assert.match((await ann.get('/settings/deleted')).text, /None\./)
  await service.import([session])
  assert.equal((await ann.get('/training/5')).status, 200)
})

test('a row of a table that is a deleted record counts as deleted, by its number or its minute, in any zone', async () => {
  await using service = await startService([lines.account(1, 'ann')], unlimited)
  const { store } = service
  const row = (number: string, day: number, grade: number) =>
    `${number},2026-02-${day} 18:00,yes,endurance,${grade}\r\n`
  const bring = async (text: string, timeZone = 'UTC') => {
    const file = `Number,Recorded,Passed,Segment kind,Grade\r\n${text}`
    const { kinds } = await importFile(service, file, { account: 1, onConflict: 'replace', timeZone })
    const { added = 0, replaced = 0, deleted = 0 } = kinds.find(({ kind }) => kind === 'training-session') ?? {}
    return [added, replaced, deleted]
  }
  assert.deepEqual(await bring(row('', 16, 80) + row('', 17, 80)), [2, 0, 0])
  const { id } = await store.db.selectFrom('training_session').select('id').orderBy('at').executeTakeFirstOrThrow()
  await remove(store, { ...which, id }, Date.now())
  assert.deepEqual(await bring(row('', 16, 90) + row('', 17, 80)), [0, 0, 1])
  assert.deepEqual(await bring(row(String(id), 16, 90)), [0, 0, 1])
  assert.deepEqual(await bring(row('', 16, 80), 'Europe/Berlin'), [0, 0, 1])
  assert.deepEqual(await bring(row('', 18, 80)), [1, 0, 0])
  await allow(store, { ...which, id })
  assert.deepEqual(await bring(row('', 16, 90)), [1, 0, 0])
})

test('the preview of a file says what was deleted here, and its sender allows it again there', async () => {
  await using service = await startService(history, unlimited)
  await remove(service.store, which, Date.now())
  const ann = await signInAs(service, 'ann')
  await upload(service.url, ann, { 'evening.ndjson': JSON.stringify(session) })
  const page = await settledPage(ann)
  assert.match(page, />1 deleted here/)
  assert.match(page, /1 record of the file was deleted here and stays away\./)
  assert.match(page, /There is nothing new to store\./)
  await decide(ann, 'allow')
  assert.doesNotMatch(await settledPage(ann), /deleted here/i)
  await decide(ann, 'store')
  assert.match(await settledPage(ann), /Training sessions: 1 new/)
  assert.equal(await statusOf(service, '/api/v1/dtt/sessions/5'), 200)
})
