import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteRecords } from '../../src/accounts/deleted-records.ts'
import { listFiles, undoFile } from '../../src/accounts/imported-files.ts'
import { listEvents } from '../../src/accounts/events.ts'
import { importArchive } from '../../src/archive/import.ts'
import { storeBatch } from '../../src/archive/batch-importer.ts'
import { signInAs } from '../support/dashboard.ts'
import * as lines from '../support/records.ts'
import { archiveOf, startService, type TestService, unlimited } from '../support/service.ts'

const people = [lines.account(1, 'ann'), lines.account(2, 'ben')]
const session = (id: number, more = {}) => lines.trainingSession(id, 1, more)
const sessions = [1, 2, 3, 4, 5].map(id => session(id))

const bring = ({ store }: TestService, file: string, records: readonly object[]) =>
  importArchive(store, archiveOf(records), { file, onConflict: 'replace' })
const source = { source: 'https://history.example', account: 1 }
const idsOf = async ({ store }: TestService) =>
  (await store.db.selectFrom('training_session').select('id').orderBy('id').execute()).map(({ id }) => id)
const undo = ({ store }: TestService, file: number, accountId = 1) => undoFile(store, { accountId, file }, Date.now())

test('undoing a file removes what only it added, says what it leaves, and leaves no mark', async () => {
  await using service = await startService([...people, session(1)], unlimited)
  const { store } = service
  await bring(service, 'evening.csv', [...sessions.slice(1), session(1, { repsMeasured: 99 }), lines.lockDevice(7, 1)])
  // A pull brings one that is the same, and one that is not.
  const { data } = session(2)
  const { data: other } = session(3, { repsMeasured: 50 })
  await storeBatch(
    store,
    [data, other].map(record => ({ kind: 'training-session', data: record, envelope: { ownerId: 1 } })),
    source,
  )
  await deleteRecords(store, { accountId: 1, records: [{ kind: 'training-session', id: 4 }] }, Date.now())

  const [file] = await listFiles(store, 1)
  assert.deepEqual(
    { ...file, id: 0, at: 0 },
    { id: 0, name: 'evening.csv', at: 0, added: 5, replaced: 1, removable: 2, kept: 2 },
  )
  await undo(service, file?.id ?? 0)
  assert.deepEqual(await idsOf(service), [1, 2, 3])
  assert.deepEqual(await listFiles(store, 1), [])
  const [event] = await listEvents(store, 1, { limit: 1 })
  assert.deepEqual([event?.kind, event?.subject], ['file-undone', ''])
  const again = await bring(service, 'corrected.csv', sessions)
  const counts = again.kinds.find(({ kind }) => kind === 'training-session')
  assert.deepEqual([counts?.added, counts?.deleted], [1, 1])
})

test('the same file brought again, unchanged, can still be undone', async () => {
  await using service = await startService(people, unlimited)
  for (let time = 0; time < 2; time += 1) await bring(service, 'evening.csv', sessions)
  const [file, ...others] = await listFiles(service.store, 1)
  assert.deepEqual([file?.removable, others.length], [sessions.length, 0])
  await undo(service, file?.id ?? 0)
  assert.deepEqual(await idsOf(service), [])
})

test('two people who undo a file at once undo it once, and nobody undoes a file of somebody else', async () => {
  await using service = await startService(people, unlimited)
  await bring(service, 'evening.csv', sessions)
  const [file] = await listFiles(service.store, 1)
  const id = file?.id ?? 0
  await assert.rejects(undo(service, id, 2), /no such import/)
  const ended = await Promise.allSettled([undo(service, id), undo(service, id), undo(service, id)])
  assert.deepEqual(ended.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected'])
  assert.deepEqual(await idsOf(service), [])
})

test('a pull and an import that run while a file is undone end with what they bring, and know it', async () => {
  await using service = await startService(people, unlimited)
  const { store } = service
  await bring(service, 'evening.csv', sessions)
  const [file] = await listFiles(store, 1)
  const pulled = sessions.slice(0, 3).map(({ data }) => ({ kind: 'training-session', data, envelope: { ownerId: 1 } }))
  await Promise.all([
    storeBatch(store, pulled, source),
    undo(service, file?.id ?? 0),
    bring(service, 'again.csv', sessions.slice(3, 4)),
  ])
  assert.deepEqual(await idsOf(service), [1, 2, 3, 4])
})

test('the last hundred files of an account can be undone', async () => {
  await using service = await startService(people, unlimited)
  for (let id = 1; id <= 103; id += 1) await bring(service, `${id}.ndjson`, [session(id)])
  const files = await listFiles(service.store, 1)
  assert.deepEqual([files.length, files[0]?.name, files.at(-1)?.name], [100, '103.ndjson', '4.ndjson'])
})

test('Source lists the files that brought records, with names for their owner alone, and undoes one after a fresh sign-in', async () => {
  await using service = await startService([...people, lines.partnership(1, 2)], unlimited)
  await bring(service, 'evening.csv', sessions)
  const ann = await signInAs(service, 'ann')
  const ben = await signInAs(service, 'ben')
  const [file] = await listFiles(service.store, 1)
  assert.match((await ann.get('/source')).text, /evening\.csv/)
  assert.doesNotMatch((await ben.get('/source')).text, /evening\.csv|What came in/)
  assert.equal((await ben.get(`/source/files/${file?.id}/undo`)).status, 404)
  assert.match(
    (await ann.get(`/source/files/${file?.id}/undo`)).text,
    /5 records that only this file brought are removed/,
  )
  await ann.post('/display', { discreet: '1', back: '/source' })
  assert.doesNotMatch((await ann.get('/source')).text, /evening\.csv/)
  assert.doesNotMatch((await ann.get('/settings/export')).text, /evening\.csv/)
  assert.equal((await ann.post(`/source/files/${file?.id}/undo`, {})).status, 303)
  assert.deepEqual(await idsOf(service), [])
  assert.doesNotMatch(service.log.join(''), /evening\.csv/)
})
