// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { account, lockTemplate, partnership, trainingSession, world } from '../support/records.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, type TestService } from '../support/service.ts'
import { decide, settledPage, upload, uploadFiles } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

const ndjson = (records: readonly (object | string)[]) =>
  records.map(record => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join('')

/** The words of a page, without its markup. */
const textOf = (page: string) =>
  page
    .slice(page.indexOf('<main'), page.indexOf('</main>'))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')

async function signedIn(service: Pick<TestService, 'url' | 'store'>, username = 'ann') {
  await allowSignIn(service, username)
  const someone = visitor(service.url)
  await someone.signIn(username)
  return someone
}

const storedIds = async ({ store }: TestService) =>
  (await store.db.selectFrom('lock_template').select('id').orderBy('id').execute()).map(({ id }) => id)

test('a file is shown before anything of it is stored, and deleted once it is stored', async () => {
  await using service = await startService([...world, lockTemplate(1, 1), lockTemplate(2, 1)])
  const ann = await signedIn(service)
  assert.match(textOf((await ann.get('/source')).text), /Upload a file/)
  const changed = lockTemplate(2, 1, { name: 'Renamed' })
  const records = [lockTemplate(1, 1), changed, lockTemplate(3, 1), trainingSession(4, 1)]
  const sent = await upload(service.url, ann, { 'my records.ndjson': ndjson(records) })
  assert.deepEqual([sent.status, sent.to], [303, '/source/file'])

  const page = textOf(await settledPage(ann))
  assert.match(page, /my records\.ndjson, 3 KB/)
  assert.match(page, /Lock templates 1\sJan(\s2026)? 1\sJan(\s2026)? 1 new, 1 changed, 1 the same Training/)
  assert.match(page, /Training sessions 16\sFeb(\s2026)? 16\sFeb(\s2026)? 1 new /)
  assert.deepEqual(await storedIds(service), [1, 2])

  assert.equal((await decide(ann, 'store')).to, '/source/file')
  assert.match(textOf(await settledPage(ann)), /Stored\..+Lock templates: 1 new, 1 changed Training sessions: 1 new/)
  assert.deepEqual(await storedIds(service), [1, 2, 3])
  await until(async () => uploadFiles(service.databaseUrl).length === 0)
  assert.match(textOf((await ann.get('/settings/events')).text), /Records stored from a file/)
  assert.match(textOf((await ann.get('/source')).text), /Upload a file/)
})

test('records of others, accounts and access are counted and left out', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  const more = [account(1, 'ann'), account(77, 'eve'), partnership(1, 3), lockTemplate(2, 2), lockTemplate(3, 77)]
  await upload(service.url, ann, { a: ndjson([lockTemplate(1, 1), ...more]) })
  assert.match(
    textOf(await settledPage(ann)),
    /Left out: 2 records of other accounts, 2 accounts, 1 access to records\. Only records of your own account, number 1,/,
  )
  const before = await service.store.db.selectFrom('account').selectAll().orderBy('id').execute()
  await decide(ann, 'store')
  await settledPage(ann)
  assert.deepEqual(await storedIds(service), [1])
  const after = await service.store.db.selectFrom('account').selectAll().orderBy('id').execute()
  const named = (rows: typeof before) => rows.map(({ id, username }) => [id, username])
  assert.deepEqual(named(after), named(before))
})

test('what cannot be stored is listed by its reason, all of it in a file, and the rest can be stored', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  const { createdAt: _, ...undated } = lockTemplate(9, 1).data as Record<string, unknown>
  const wrong = { ...lockTemplate(9, 1), data: undated }
  await upload(service.url, ann, { a: ndjson([lockTemplate(1, 1), 'no json', wrong, wrong, '=HYPERLINK("x")']) })
  const page = textOf(await settledPage(ann))
  assert.match(page, /4 lines cannot be stored/)
  assert.match(page, /is not valid JSON 2 2, 5/)
  const { text, headers } = await ann.get('/source/upload/rejected.csv')
  assert.match(headers.get('Content-Disposition') ?? '', /attachment; filename="rejected\.csv"/)
  const [first, ...rows] = text.trimEnd().split('\r\n')
  assert.equal(first, 'line,kind,id,reason')
  assert.deepEqual(
    rows.map(row => row.split(',')[0]).toSorted((a, b) => Number(a) - Number(b)),
    ['2', '3', '4', '5'],
  )
  await decide(ann, 'store')
  await settledPage(ann)
  assert.deepEqual(await storedIds(service), [1])
})

test('a file that is discarded is deleted, and another one can be sent', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  for (const count of [1, 2]) {
    await upload(service.url, ann, { a: ndjson([lockTemplate(count, 1)]) })
    await settledPage(ann)
    assert.equal((await decide(ann, 'discard')).to, '/source/file')
    await until(async () => uploadFiles(service.databaseUrl).length === 0)
    assert.match(textOf(await settledPage(ann)), /No file waits here/)
  }
  assert.deepEqual(await storedIds(service), [])
})

test('a file of records that are stored already is not offered to be stored again', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)])
  const ann = await signedIn(service)
  await upload(service.url, ann, { a: ndjson([lockTemplate(1, 1)]) })
  const page = textOf(await settledPage(ann))
  assert.match(page, /There is nothing new to store\. Discard/)
  assert.doesNotMatch(page, /Store [\d,]+ records?\?/)
})

test('nobody sees, stores or discards the file of another account', async () => {
  await using service = await startService(world)
  const [ann, ben] = [await signedIn(service), await signedIn(service, 'ben')]
  await upload(service.url, ann, { 'secret-name.ndjson': ndjson([lockTemplate(1, 1), 'x']) })
  const [, id = ''] = /name="id" value="([^"]+)"/.exec(await settledPage(ann)) ?? []
  assert.doesNotMatch((await ben.get('/source/file')).text, /secret-name/)
  assert.equal((await ben.get('/source/upload/rejected.csv')).status, 404)
  for (const what of ['store', 'discard', 'check']) await ben.post(`/source/upload/${what}`, { id })
  assert.match(await settledPage(ann), /secret-name/)
  assert.deepEqual(await storedIds(service), [])
  await upload(service.url, ben, { b: ndjson([lockTemplate(2, 2)]) })
  await settledPage(ben)
  assert.match(await settledPage(ann), /secret-name/, 'each account has its own')
})

test('a page that shows another file than the one that waits stores nothing', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  await upload(service.url, ann, { a: ndjson([lockTemplate(1, 1)]) })
  const [, id = ''] = /name="id" value="([^"]+)"/.exec(await settledPage(ann)) ?? []
  await decide(ann, 'discard')
  await upload(service.url, ann, { b: ndjson([lockTemplate(2, 1)]) })
  await settledPage(ann)
  assert.equal((await ann.post('/source/upload/store', { id })).to, '/source/file')
  assert.match(textOf(await settledPage(ann)), /Store 1 record\?/)
  assert.deepEqual(await storedIds(service), [])
})

test('a file survives a restart of the service, and its hour ends whatever happens', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  await upload(service.url, ann, { a: ndjson([lockTemplate(1, 1)]) })
  await settledPage(ann)
  {
    await using server = await startSecondServer(service)
    const again = visitor(server.url)
    await again.signIn('ann')
    assert.match(await settledPage(again), /Store 1 record\?/)
    await service.store.db
      .updateTable('upload')
      .set({ received_at: Date.now() - 3_601_000 })
      .execute()
    assert.match(await settledPage(again), /No file waits here/)
    assert.equal((await decide(again, 'store')).to, '/source/file')
  }
  // The next service removes it at its start, as every service does once a minute.
  await using next = await startSecondServer(service)
  await until(async () => uploadFiles(service.databaseUrl).length === 0)
  assert.deepEqual(await service.store.db.selectFrom('upload').selectAll().execute(), [], next.url)
  assert.deepEqual(await storedIds(service), [])
})

test('another machine says which one has the file', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  await upload(service.url, ann, { a: ndjson([lockTemplate(1, 1)]) })
  await settledPage(ann)
  await service.store.db.updateTable('upload').set({ host: 'first.example' }).execute()
  await using other = await startSecondServer(service, { LOCKSTEP_DATABASE_URL: 'sqlite:/nowhere/elsewhere.db' })
  const again = visitor(other.url)
  await again.signIn('ann')
  const page = textOf(await settledPage(again))
  assert.match(page, /The file is on the machine first\.example/)
  assert.doesNotMatch(page, /Store [\d,]+ records?\?/)
  assert.match(textOf(await settledPage(ann)), /Store 1 record\?/)
})

test('more records than an account may have are not stored', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)], { LOCKSTEP_MAX_RECORDS: '3' })
  const ann = await signedIn(service)
  const store = async (ids: readonly number[]) => {
    await upload(service.url, ann, { a: ndjson(ids.map(id => lockTemplate(id, 1))) })
    await settledPage(ann)
    await decide(ann, 'store')
    return textOf(await settledPage(ann))
  }
  assert.match(await store([2, 3, 4]), /The account would have more than 3 records.+Nothing was stored/)
  assert.deepEqual(await storedIds(service), [1])
  assert.match(await store([1, 2, 3]), /Lock templates: 2 new/)
  assert.deepEqual(await storedIds(service), [1, 2, 3])
})

test('saved responses are stored as records of the account that sent them, several files at once', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)])
  const ann = await signedIn(service)
  const saved = (records: readonly { data: object }[]) =>
    JSON.stringify({ ok: true, data: { data: records.map(({ data }) => data), pagination: {} } })
  const wrong = { data: { id: 3, ownerId: 1, isTestLock: true } }
  await upload(service.url, ann, {
    'templates.json': saved([lockTemplate(1, 1), lockTemplate(2, 1), wrong, lockTemplate(4, 2)]),
    'sessions.json': saved([trainingSession(5, 1), { data: { ...trainingSession(6, 1).data, ownerId: 2 } }]),
    'archive.ndjson': `${ndjson([lockTemplate(3, 1)])}{"kind":"end","data":{"lines":1}}\n`,
  })
  const page = textOf(await settledPage(ann))
  assert.match(page, /3 files, /)
  assert.match(
    page,
    /Lock templates 1\sJan(\s2026)? 1\sJan(\s2026)? 2 new, 1 the same Training sessions 16\sFeb(\s2026)? 16\sFeb(\s2026)? 1 new /,
  )
  assert.match(page, /Left out: 2 records of other accounts\./)
  assert.match(page, /1 line cannot be stored.+ Where duration is missing.+ 1 file 1: 3 /)
  assert.doesNotMatch(page, /cut off/)
  assert.match((await ann.get('/source/upload/rejected.csv')).text, /^file 1: 3,lock-template,3,duration is missing/m)
  await decide(ann, 'store')
  assert.match(textOf(await settledPage(ann)), /Lock templates: 2 new Training sessions: 1 new/)
  assert.deepEqual(await storedIds(service), [1, 2, 3])
  const sessions = await service.store.db.selectFrom('training_session').select(['id', 'owner_id']).execute()
  assert.deepEqual(
    sessions.map(row => ({ ...row })),
    [{ id: 5, owner_id: 1 }],
  )
})

test('what opens an encrypted file is asked for, used, and stored nowhere', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  const identity = await generateX25519Identity()
  const withPassphrase = new Encrypter()
  withPassphrase.setScryptWorkFactor(10)
  withPassphrase.setPassphrase('open sesame')
  const withIdentity = new Encrypter()
  withIdentity.addRecipient(await identityToRecipient(identity))
  for (const [id, encrypter, secret] of [
    [1, withPassphrase, 'open sesame'],
    [2, withIdentity, identity],
  ] as const) {
    const archive = Buffer.from(ndjson([lockTemplate(id, 1)]))
    await upload(service.url, ann, { 'a.age': Buffer.from(await encrypter.encrypt(gzipSync(archive))) })
    assert.match(textOf(await settledPage(ann)), /The file is encrypted\. Passphrase or age identity/)
    await decide(ann, 'check', { secret: 'open barley' })
    assert.match(
      textOf(await settledPage(ann)),
      /(The passphrase does not open|encrypted for others).+Passphrase or age/,
    )
    await decide(ann, 'check', { secret })
    assert.match(textOf(await settledPage(ann)), /Lock templates .+Passphrase or age identity.+Store 1 record\?/)
    await decide(ann, 'store', { secret: 'AGE-SECRET-KEY-1NONSENSE' })
    assert.match(
      textOf(await settledPage(ann)),
      /does not open the file.+Nothing was stored.+Lock templates .+Store 1 record\?/,
    )
    await until(async () => (await decide(ann, 'store', { secret })).status === 303)
    assert.match(textOf(await settledPage(ann)), /Stored\./)
    const { report } = await service.store.db.selectFrom('upload').select('report').executeTakeFirstOrThrow()
    assert.ok(!String(report).includes(secret))
    assert.ok(!service.log.join('').includes(secret))
  }
  assert.deepEqual(await storedIds(service), [1, 2])
})

test('the kind of records that do not say it is asked for, also of an encrypted file', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  const encrypter = new Encrypter()
  encrypter.setScryptWorkFactor(10)
  encrypter.setPassphrase('open sesame')
  const devices = JSON.stringify([{ id: 7, lastVisited: null, bubbleId: 'x' }])
  await upload(service.url, ann, { 'devices.json': Buffer.from(await encrypter.encrypt(devices)) })
  await settledPage(ann)
  await decide(ann, 'check', { secret: 'open sesame' })
  const asked = textOf(await settledPage(ann))
  assert.match(asked, /do not say of which kind they are\. Its records are .+Passphrase or age identity/)
  await decide(ann, 'check', { kind: 'training-device', secret: 'open sesame' })
  assert.match(textOf(await settledPage(ann)), /Training devices .+1 new /)
  await decide(ann, 'store', { secret: 'open sesame' })
  assert.match(textOf(await settledPage(ann)), /Training devices: 1 new/)
  const [row] = await service.store.db.selectFrom('training_device').select(['id', 'owner_id']).execute()
  assert.deepEqual({ ...row }, { id: 7, owner_id: 1 })
})

test('tables that people fill in are read in their time zone, and the page says so', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  const set = await ann.post('/settings', { timeZone: 'Europe/Berlin', units: 'metric' })
  assert.equal(set.to, '/settings?saved=units')
  const form = (await ann.get('/source/upload')).text
  const [template = ''] = /\/source\/upload\/locks\.csv/.exec(form) ?? []
  const header = (await ann.get(template)).text
  assert.match(header, /^Name,Started,Ended,Break 1 from,Break 1 to/)
  await upload(service.url, ann, {
    'locks.csv': `${header.replace('Name', 'Notes')}x,2026-02-16 00:30,2026-02-16 10:00\r\n`,
  })
  const page = textOf(await settledPage(ann))
  assert.match(page, /Lock sessions 16\sFeb(\s2026)? 16\sFeb(\s2026)? 1 new /)
  assert.match(page, /Times without a zone are read as times in Europe\/Berlin/)
  assert.match(page, /Columns that are not read: Notes\./)
  await decide(ann, 'store')
  assert.match(textOf(await settledPage(ann)), /Lock sessions: 1 new/)
  const { at } = await service.store.db.selectFrom('lock_session').select('at').executeTakeFirstOrThrow()
  assert.equal(new Date(at).toISOString(), '2026-02-15T23:30:00.000Z')
})

test('a file without records says what it is, and is deleted', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  await upload(service.url, ann, { 'a.csv': Buffer.from('PK\x03\x04\x14\0xl/workbook.xml') })
  assert.match(textOf(await settledPage(ann)), /This is a workbook: save it as CSV UTF-8\. Nothing was stored/)
  await until(async () => uploadFiles(service.databaseUrl).length === 0)
})

test('hidden names hide the name of the file, too', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  await upload(service.url, ann, { 'telling.ndjson': ndjson([lockTemplate(1, 1)]) })
  await settledPage(ann)
  await ann.post('/display', { discreet: '1', back: '/source/file' })
  assert.doesNotMatch(await settledPage(ann), /telling/)
})

test('blank lines count: a file of too many is refused at once', async () => {
  await using service = await startService(world)
  const ann = await signedIn(service)
  await upload(service.url, ann, { a: gzipSync(`Recorded,Passed\n${'\n'.repeat(10_000_001)}`) })
  assert.match(textOf(await settledPage(ann)), /It has more than 10,000,000 lines/)
})
