// engine: both
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importFile } from '../support/archives.ts'
import { signInAs } from '../support/dashboard.ts'
import { account, lockSession, trainingSession } from '../support/records.ts'
import { decide, settledPage, upload } from '../support/uploads.ts'
import { startService, unlimited } from '../support/service.ts'
import { pull } from '../support/sources/pulls.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'

test('sessions that were typed within 15 minutes of one from the server are named, and deleted together', async () => {
  const world = new SourceWorld().add(
    account(1, 'ann'),
    trainingSession(5, 1, { created_at: '2026-02-16T18:14:00Z' }),
    trainingSession(6, 1, { created_at: '2026-02-18T18:16:00Z' }),
    lockSession(7, 1, { startDate: '2026-02-20T08:00:00Z' }),
  )
  await using source = await startSource({ world, identity: '/users/me' })
  await using service = await startService([account(1, 'ann')], unlimited)
  const { store } = service
  const bring = (text: string) =>
    importFile(service, text, { account: 1, onConflict: 'replace', timeZone: 'UTC' }).then(({ kinds }) =>
      kinds.map(({ added, deleted = 0 }) => added + deleted).filter(count => count > 0),
    )
  const evenings = 'Recorded,Passed\n2026-02-16 18:00,yes\n2026-02-18 18:00,yes\n'
  await bring(evenings)
  await bring('Started,Ended,State\n2026-02-20 07:50,2026-02-20 09:00,completed\n')
  const ann = await signInAs(service, 'ann')
  assert.doesNotMatch((await ann.get('/source')).text, /Typed and copied/)
  assert.equal((await ann.get('/source/typed')).to, '/source')

  await pull(store, source.url, { account: '1' })
  assert.match(
    (await ann.get('/source')).text,
    /2 sessions that you typed begin within 15 minutes of one from the server/,
  )
  const { text } = await ann.get('/source/typed')
  assert.match(text, /2 typed sessions go from all lists/)
  assert.match(text, /href="\/training\/5"/)
  assert.match(text, /href="\/locks\/7"/)
  assert.equal((await ann.post('/source/typed', {})).to, '/source')
  const idsOf = async (table: 'training_session' | 'lock_session') =>
    (await store.db.selectFrom(table).select('id').orderBy('at').execute()).map(({ id }) => id)
  assert.deepEqual(await idsOf('training_session'), [5, 900_000_001, 6])
  assert.deepEqual(await idsOf('lock_session'), [7])
  assert.doesNotMatch((await ann.get('/source')).text, /Typed and copied/)
  assert.match((await ann.get('/settings/events')).text, /2 records/)
  await upload(service.url, ann, { 'late.csv': 'Recorded,Passed\n2026-02-16 18:20,yes\n2026-02-18 19:00,yes\n' })
  assert.match(await settledPage(ann), /1 new session begins within 15 minutes of one that no table made/)
  await decide(ann, 'discard')
  // The sheet can be brought again: what was deleted stays away.
  await bring(evenings)
  assert.deepEqual(await idsOf('training_session'), [5, 900_000_001, 6])
})
