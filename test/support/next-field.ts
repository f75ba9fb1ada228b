import assert from 'node:assert/strict'
import { writeBackup } from '../../src/backup/create.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { keptPage } from '../../src/dashboard/keep/kept-page.ts'
import { open } from '../../src/store/index.ts'
import { makeFolder } from './command.ts'
import { signInAs } from './dashboard.ts'
import { bytesOf, exportOf, importFile } from './archives.ts'
import { account, trainingSession } from './records.ts'
import { startService } from './service.ts'

/** Run in a copy of the program whose sessions have the field `moodAfter`. */

await using folder = await makeFolder()
await using service = await startService([account(1, 'ann'), account(2, 'ben')])
const { store } = service
const files = {
  training: 'Recorded,Passed,Mood after\n2026-02-16 18:00,yes,4\n',
  locks: 'Started,Ended,Mood after\n2026-02-01 00:00,2026-02-01 02:00,4\n',
}
const ann = await signInAs(service, 'ann')
for (const [name, file] of Object.entries(files)) {
  await importFile(service, file, { account: 1 })
  const list = await service.fetch(name === 'locks' ? '/api/v1/lkbx/sessions' : '/api/v1/dtt/sessions', 'ann')
  assert.match(list.text, /"moodAfter":4/)
  const page = await ann.get(`/${name}?range=all`)
  assert.match(page.text, /<th[^>]*>Mood after<.*<td[^>]*>4<\/td><\/tr>/s, `the page ${name}`)
  const csv = await ann.get(`/${name}.csv?range=all`)
  assert.match(csv.text, /,Mood after\r\n.*,4\r\n$/, `${name}.csv`)
  const corrected = csv.text.replace(/,4\r\n$/, ',5\r\n')
  await importFile(service, corrected, { account: 1, onConflict: 'replace' })
}
assert.match(
  await exportOf(store),
  /"moodAfter":5.*\n.*"moodAfter":5/,
  'what a file of the pages has can be brought in',
)

// An earlier version kept it as an extra field.
const earlier = (id: number, mood: unknown) =>
  trainingSession(
    id,
    1,
    {},
    { extra: { '/moodAfter': mood, '/TrainerSegment/0/speedMeasured': 9, '/weather': 'rain' } },
  )
await importFile(service, bytesOf([earlier(50, 3), earlier(51, 'none')]))
assert.match(await exportOf(store), /"id":50,.*"speedMeasured":9.*"moodAfter":3.*"extra":\{"\/weather":"rain"\}/)
assert.match(await exportOf(store), /"id":51,.*"extra":\{"\/moodAfter":"none",.*"\/weather":"rain"\}/)

const page = await Array.fromAsync(
  keptPage(
    store,
    { session: { accountId: 1, username: 'ann' }, discreet: false, timeZone: 'UTC', units: 'metric' },
    Date.now(),
  ),
)
assert.equal(page.join('').match(/<th[^>]*>Mood after/g)?.length, 2, 'the file to keep')

await writeBackup(store, folder.file('backup.db'), { databaseUrl: service.databaseUrl })
const backup = await open(`sqlite:${folder.file('backup.db')}`, { busyTimeoutMs: 0 })
assert.equal(await exportOf(backup), await exportOf(store), 'the backup')
await backup.close()

await removeAccount(store, 1, Date.now())
assert.doesNotMatch(await exportOf(store), /moodAfter/)
