// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addAccount } from '../../src/accounts/accounts.ts'
import { giveByName, listGiven } from '../../src/accounts/given-access.ts'
import { makeReadLog } from '../../src/accounts/read-log.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { type Seen, signInAs } from '../support/dashboard.ts'
import { lockSession, trainingSession, world } from '../support/records.ts'
import { inBrowser, startService, unlimited } from '../support/service.ts'

const HOUR = 3_600_000

/** Ann is signed in. She gave access to Ben; Cas has none; nobody has an account named quinby. */
async function signedIn() {
  const service = await startService([...world, trainingSession(1, 1), lockSession(2, 1)], unlimited)
  const ann = await signInAs(service, 'ann')
  const tokens = new Map<string, string>()
  const scopes = ['lkbx:read', 'dtt:read', 'shared:access']
  const status = async (username: string, path = '/api/v1/dtt/sessions/1') => {
    const token = tokens.get(username) ?? (await service.token(username, { scopes }))
    tokens.set(username, token)
    return (await service.fetch(path, token)).status
  }
  return { service, ann, status, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

type SignedIn = Awaited<ReturnType<typeof signedIn>>

const give = ({ ann }: SignedIn, username: string, more: [string, string][] = []) =>
  ann.post('/people/give', [['username', username], ['area', 'lkbx'], ['area', 'dtt'], ...more])

/** The rows of a table, as texts of their cells. */
function rowsOf(text: string, title: string): string[][] {
  const [, card = ''] = text.split(`<h2>${title}</h2>`)
  const [body = ''] = card.split('</section>')
  return [...body.matchAll(/<tr>(.*?)<\/tr>/gs)]
    .map(([, row = '']) =>
      row
        .split(/<td[^>]*>/)
        .slice(1)
        .map(plain),
    )
    .filter(row => row.length > 0)
}

const plain = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Where the buttons of somebody's row lead. */
function actionOf(text: string, name: string, action: string): string {
  return new RegExp(`href="(/people/\\d+/${action})"[^>]*aria-label="[A-Za-z ]+ ${name}"`).exec(text)?.[1] ?? ''
}

test('People says who may read what, from when, until when and since when', async () => {
  await using it = await signedIn()
  assert.match((await it.ann.get('/')).text, /href="\/people">People<\/a><\/li><li><a href="\/source">Source<\/a>/)
  const before = (await it.ann.get('/people')).text
  assert.deepEqual(rowsOf(before, 'Who can read your records')[0]?.slice(0, 2), ['ben', 'Locks and training'])
  assert.equal(rowsOf(before, 'Who can read your records')[0]?.[3], 'never')
  assert.match(before, /Nobody gave you access/)
  assert.doesNotMatch(before, /Read log/)
  const given = await it.ann.post('/people/give', {
    username: 'cas',
    area: 'dtt',
    from: '2026-02-16',
    last: '9990-01-01',
  })
  assert.equal(given.to, '/people?done=given')
  const rows = rowsOf((await it.ann.get('/people')).text, 'Who can read your records')
  const terms = /^Training, from 16 Feb( 2026)? Since \d+ \w+, until the end of 1 Jan 9990$/
  assert.equal(rows[1]?.[0], 'cas')
  assert.match(rows[1]?.slice(1, 3).join(' ') ?? '', terms)
  const cas = await signInAs(it.service, 'cas')
  const received = rowsOf((await cas.get('/people')).text, 'Whose records you can read')
  assert.equal(received[0]?.[0], 'ann')
  assert.match(received[0]?.slice(1, 3).join(' ') ?? '', terms)
  assert.match((await cas.get('/people')).text, /Nobody has access to your records/)
  const [, subject = ''] =
    /name="subject" value="(\d+)" aria-label="Open history of ann"/.exec((await cas.get('/people')).text) ?? []
  assert.equal((await cas.post('/subject', { subject, back: '/' })).to, '/')
  assert.match((await cas.get('/training')).text, /<strong>Records of ann</)
})

test('access can be given, narrowed and ended, but not widened', async () => {
  await using it = await signedIn()
  assert.equal(await it.status('cas'), 404)
  await give(it, 'cas')
  assert.equal(await it.status('cas'), 200)
  assert.equal(await it.status('cas', '/api/v1/lkbx/sessions/2'), 200)
  const page = (await it.ann.get('/people')).text
  const narrow = actionOf(page, 'cas', 'narrow')
  assert.match((await it.ann.get(narrow)).text, /only reduce what/)
  assert.equal((await it.ann.post(narrow, { area: 'dtt' })).to, '/people?done=narrowed')
  assert.equal(await it.status('cas'), 200)
  assert.equal(await it.status('cas', '/api/v1/lkbx/sessions/2'), 404)
  const wider = await it.ann.post(narrow, [
    ['area', 'dtt'],
    ['area', 'lkbx'],
  ])
  assert.equal(wider.status, 422)
  assert.match(wider.text, /would become wider/)
  assert.equal((await it.ann.post(narrow, { area: 'dtt', from: '2026-02-17' })).status, 303)
  assert.equal(await it.status('cas'), 404, 'the session began a day earlier')
  assert.equal((await it.ann.post(narrow, { area: 'dtt', from: '2026-02-17', last: '9990-01-01' })).status, 303)
  for (const wider of [{ from: '2026-02-01' }, { from: '2026-02-17', last: '9990-01-02' }]) {
    assert.match((await it.ann.post(narrow, { area: 'dtt', ...wider })).text, /would become wider/)
  }
  assert.match((await it.ann.post(narrow, {})).text, /at least one area/)

  assert.equal((await it.ann.post(actionOf(page, 'ben', 'end'))).to, '/people?done=ended')
  assert.equal(await it.status('ben'), 404)
  const [only, ...rest] = rowsOf((await it.ann.get('/people')).text, 'Who can read your records')
  assert.equal(only?.[0], 'cas')
  assert.deepEqual(rest, [])
  await give(it, 'ben')
  assert.equal(await it.status('ben'), 200, 'its owner gives it again')
})

test('no page and no form shows whether an account exists', async () => {
  await using it = await signedIn()
  const token = await it.service.token('ann', { scopes: ['lkbx:read', 'dtt:read', 'shared:access'] })
  /** All pages that somebody sees who gives a name access, narrows and ends it. */
  const story = async (username: string) => {
    const seen: Pick<Seen, 'status' | 'to' | 'text'>[] = []
    const visit = async (answer: Promise<Seen>) => {
      seen.push(await answer)
      return seen.at(-1)?.text ?? ''
    }
    await visit(give(it, username, [['last', '9990-01-01']]))
    const page = await visit(it.ann.get('/people?done=given'))
    assert.match(page, /Access is given, if there is such an account/)
    const narrow = actionOf(page, username, 'narrow')
    await visit(it.ann.get(narrow))
    await visit(it.ann.post(narrow, { area: 'dtt', last: '9991-01-01' }))
    await visit(it.ann.post(narrow, { area: 'dtt', last: '9980-01-01' }))
    await visit(
      it.ann.post(narrow, [
        ['area', 'dtt'],
        ['area', 'lkbx'],
      ]),
    )
    await visit(it.ann.get('/people'))
    await visit(give(it, username))
    await visit(it.ann.get('/people'))
    const end = actionOf(page, username, 'end')
    await visit(it.ann.get(end))
    await visit(it.ann.post(end))
    await visit(it.ann.get('/people?done=ended'))
    await visit(it.ann.get(end))
    await visit(it.ann.get('/people/reads.csv'))
    await visit(give(it, username))
    for (const path of ['me/access', 'users', 'users/3', 'me/reads']) {
      const { status, text } = await it.service.fetch(`/api/v1/${path}`, token)
      seen.push({ status, to: null, text })
    }
    await visit(it.ann.post(end))
    return seen.map(({ status, to, text }) => [
      status,
      to,
      text
        .replaceAll(username, 'NAME')
        .replaceAll(/\/people\/\d+\//g, '/people/N/')
        .replaceAll(/[0-9a-f-]{36}/g, 'ID')
        .replaceAll(/"since":"[^"]+"/g, '"since":"TIME"')
        .replaceAll(/"requestId":"[^"]+"/g, '"requestId":"ID"'),
    ])
  }
  const there = await story('cas')
  assert.deepEqual(await story('quinby'), there)
  assert.ok(
    there.some(([status]) => status === 404),
    'what has ended is gone',
  )
})

test('an owner is shown the account that was given access by name once it has read', async () => {
  await using it = await signedIn()
  const token = await it.service.token('ann', { scopes: ['dtt:read', 'shared:access'] })
  const seen = async () => {
    const { body } = await it.service.fetch('/api/v1/me/access', token)
    const users = await it.service.fetch('/api/v1/users', token)
    return {
      given: body.data.given.map((access: { accountId: number | null; username: string }) => [
        access.accountId,
        access.username,
      ]),
      users: users.body.data.data.map(({ id }: { id: number }) => id),
      user: (await it.service.fetch('/api/v1/users/3', token)).status,
    }
  }
  for (const username of ['quinby', 'cas']) await give(it, username)
  const known: [number, string] = [2, 'ben']
  const unread = { given: [known, [null, 'cas'], [null, 'quinby']], users: [1, 2], user: 404 }
  assert.deepEqual(await seen(), unread)
  const log = makeReadLog(it.service.store, { days: 100, onFailure: error => assert.fail(String(error)) })
  log.record({ accountId: 3, via: 'dashboard', keyName: '' }, 1, 'dtt', 'list', Date.now())
  await log.close()
  assert.deepEqual(await seen(), { given: [known, [3, 'cas'], [null, 'quinby']], users: [1, 2, 3], user: 200 })
})

test('the name of an account that is removed before it has read stays, like a name without an account, and gives no access', async () => {
  await using it = await signedIn()
  const { store } = it.service
  const names = async () =>
    rowsOf((await it.ann.get('/people')).text, 'Who can read your records').map(row => row.slice(0, 3))
  for (const username of ['quinby', 'cas']) await give(it, username, [['last', '9990-01-01']])
  const before = await names()
  assert.deepEqual(
    before.map(([name]) => name),
    ['ben', 'cas', 'quinby'],
  )
  await removeAccount(store, 3, Date.now())
  assert.deepEqual(await names(), before)
  await addAccount(store, { username: 'cas', tier: 'ultra' })
  assert.equal(await it.status('cas'), 404)
  assert.deepEqual(await names(), before)
  // Ben's access was not given by name, so Ann knows that there was such an account.
  await removeAccount(store, 2, Date.now())
  assert.deepEqual(await names(), before.slice(1))
})

test('the day since which a name has access is the same with and without an account, also when it is given again', async () => {
  await using it = await signedIn()
  const { store } = it.service
  const terms = { areas: ['dtt'], recordsFrom: null } as const
  const dayOf = (day: number) => Date.UTC(2026, 1, day)
  const [start, end, later, latest] = [dayOf(1), dayOf(2), dayOf(3), dayOf(4)]
  const sinceOf = async (username: string) => {
    const given = await listGiven(store, 1, latest)
    return given.find(one => one.username === username)?.since
  }
  for (const username of ['cas', 'quinby']) {
    await giveByName(store, { accountId: 1, username, ...terms, until: end }, start, inBrowser)
    await giveByName(store, { accountId: 1, username, ...terms, until: null }, later, inBrowser)
    assert.equal(await sinceOf(username), later, 'the first access had ended')
  }
  await addAccount(store, { username: 'quinby', tier: 'ultra' })
  for (const username of ['cas', 'quinby']) {
    await giveByName(store, { accountId: 1, username, ...terms, until: null }, latest, inBrowser)
    assert.equal(await sinceOf(username), later, 'the second access was open')
  }
})

test('giving access to an unknown name runs as many statements as to an account', async () => {
  await using it = await signedIn()
  const { store } = it.service
  const counted = async (username: string) => {
    let statements = 0
    const db = store.db.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const terms = { areas: ['dtt'], recordsFrom: null, until: null } as const
    await giveByName({ ...store, db }, { accountId: 1, username, ...terms }, Date.now(), inBrowser)
    return statements
  }
  assert.deepEqual([await counted('quinby'), await counted('quinby')], [await counted('cas'), await counted('cas')])
})

test('a name without an account gives no access, not even to a later account of that name', async () => {
  await using it = await signedIn()
  await give(it, 'quinby')
  const { id } = await addAccount(it.service.store, { username: 'quinby', tier: 'ultra' })
  assert.equal(await it.status('quinby'), 404)
  assert.equal(rowsOf((await it.ann.get('/people')).text, 'Who can read your records').length, 2)
  await give(it, 'quinby')
  assert.equal(await it.status('quinby'), 200)
  const given = await listGiven(it.service.store, 1, Date.now())
  assert.deepEqual(
    given.map(({ username }) => username),
    ['ben', 'quinby'],
  )
  const left = await it.service.store.db.selectFrom('unmatched_access').selectAll().execute()
  assert.deepEqual(left, [])
  assert.equal(id, 4)
})

test('access is given to a hundred names at most, whether or not they have an account', async () => {
  await using it = await signedIn()
  const row = { owner_id: 1, areas: 'dtt', records_from: null, expires_at: null, given_at: 0 }
  const names = Array.from({ length: 99 }, (_, index) => ({ ...row, username: `name ${index}` }))
  await it.service.store.db.insertInto('unmatched_access').values(names).execute()
  for (const username of ['cas', 'quinby']) {
    const refused = await give(it, username)
    assert.equal(refused.status, 422)
    assert.match(refused.text, /100 names, which is the most: end one first/)
  }
  for (const username of ['ben', 'name 7']) assert.equal((await give(it, username)).status, 303)
  await it.ann.post(actionOf((await it.ann.get('/people')).text, 'name 8', 'end'))
  assert.equal((await give(it, 'cas')).status, 303)
})

test('access that somebody else gave is not found by its address', async () => {
  await using it = await signedIn()
  const cas = await signInAs(it.service, 'cas')
  const end = actionOf((await it.ann.get('/people')).text, 'ben', 'end')
  for (const path of [end, end.replace('end', 'narrow'), '/people/1/end', '/people/0/end']) {
    assert.equal((await cas.get(path)).status, 404)
    assert.equal((await cas.post(path)).status, 404)
  }
  assert.equal(await it.status('ben'), 200)
})

/** Reads of Ann's records: thirty hours of Ben, some of her own key, and one of the operator. */
async function withReads() {
  const it = await signedIn()
  const log = makeReadLog(it.service.store, { days: 100, onFailure: error => assert.fail(String(error)) })
  const now = Date.now()
  for (let hour = 0; hour < 30; hour += 1) {
    log.record({ accountId: 2, via: 'dashboard', keyName: '' }, 1, 'dtt', 'list', now - hour * HOUR)
  }
  log.record({ accountId: 2, via: 'token', keyName: 'secret name of ben' }, 1, 'lkbx', 'record', now)
  log.record({ accountId: 1, via: 'token', keyName: '=own "key"' }, 1, 'lkbx', 'record', now)
  log.record({ accountId: 0, via: 'operator', keyName: '' }, 1, 'dtt', 'export', now)
  await log.close()
  return it
}

test('the log of reads is newest first, paged, filtered by reader, and a CSV', async () => {
  await using it = await withReads()
  const first = (await it.ann.get('/people')).text
  const rows = rowsOf(first, 'Read log')
  assert.equal(rows.length, 25)
  const texts = rows.map(([who, , ...what]) => [who, ...what].join(' | '))
  assert.ok(texts.includes('You | API key =own &quot;key&quot; | Locks, single record | 1'))
  assert.ok(texts.includes('Operator | Command line | Training, download | 1'))
  assert.ok(texts.includes('ben | API key | Locks, single record | 1'))
  assert.doesNotMatch(first, /secret name of ben/)
  assert.match(rowsOf(first, 'Who can read your records')[0]?.[3] ?? '', /^in the last hour$/)
  assert.equal(rowsOf((await it.ann.get('/people?page=2')).text, 'Read log').length, 8)
  const ofBen = (await it.ann.get('/people?reader=2')).text
  assert.ok(rowsOf(ofBen, 'Read log').every(([who]) => who === 'ben'))
  assert.match(ofBen, /<option value="2" selected>ben<\/option>/)
  assert.match(ofBen, /href="\/people\?reader=2&amp;page=2#reads"/)
  assert.equal(rowsOf((await it.ann.get('/people?reader=2&page=2')).text, 'Read log').length, 6)

  const all = await it.ann.get('/people/reads.csv')
  assert.match(all.headers.get('Content-Disposition') ?? '', /attachment; filename="reads-\d{4}-\d\d-\d\d\.csv"/)
  const lines = all.text.trimEnd().split('\r\n')
  assert.equal(lines[0], 'Hour,Who,How,Key,Area,What,Times')
  assert.equal(lines.length, 34)
  assert.ok(
    lines.some(line => line.endsWith(`:00:00Z,You,API key,"'=own ""key""",Locks,single record,1`)),
    'no formula',
  )
  assert.equal((await it.ann.get('/people/reads.csv?reader=2')).text.trimEnd().split('\r\n').length, 32)
})

test('somebody who may read sees on Overview what was recorded since they last looked', async () => {
  await using it = await signedIn()
  const look = async (at: string) => {
    const log = makeReadLog(it.service.store, { days: 5000, onFailure: error => assert.fail(String(error)) })
    log.record({ accountId: 2, via: 'dashboard', keyName: '' }, 1, 'dtt', 'statistics', Date.parse(at))
    await log.close()
  }
  const ben = await signInAs(it.service, 'ben')
  await ben.post('/subject', { subject: '1', back: '/' })
  assert.doesNotMatch((await ben.get('/')).text, /Since you last looked/)
  await look('2025-12-01')
  const { text } = await ben.get('/')
  const one =
    /<p class="lead"><span class="news"><strong>Since you last looked, .* ago: <a href="\/training\/1">1\straining\ssession<\/a> and <a href="\/locks\/2">1\slock<\/a></
  assert.match(text, one)
  await look('2026-06-01')
  assert.match((await ben.get('/')).text, /Since you last looked, .* ago: nothing new</)
})

test('reads of a removed account stay in the log, without its name', async () => {
  await using it = await withReads()
  await it.service.store.db.deleteFrom('account').where('id', '=', 2).execute()
  const page = (await it.ann.get('/people?reader=2')).text
  assert.ok(rowsOf(page, 'Read log').every(([who]) => who === 'removed account'))
  assert.equal(rowsOf(page, 'Read log').length, 25)
})

test('discreet mode shows no name on the page, in its source or CSV, and each person under one neutral name', async () => {
  await using it = await withReads()
  await give(it, 'quinby')
  await it.ann.post('/display', { discreet: '1' })
  const page = (await it.ann.get('/people')).text
  const given = rowsOf(page, 'Who can read your records').map(([name]) => name)
  assert.deepEqual(given, ['Person 1', 'Person 2'])
  const csv = (await it.ann.get('/people/reads.csv')).text
  assert.match(csv, /Person 1,Pages/)
  const forms = await Promise.all(['narrow', 'end'].map(action => it.ann.get(actionOf(page, 'Person 1', action))))
  for (const text of [page, csv, ...forms.map(({ text }) => text)]) {
    for (const name of ['ben', 'quinby', 'own "key"', 'own &quot;key']) assert.ok(!text.includes(name), name)
  }
  assert.match(forms[0]?.text ?? '', /<strong>Person 1<\/strong>/)
})
