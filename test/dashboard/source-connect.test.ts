// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { systemClock } from '../../src/pull/source.ts'
import { pullJob } from '../../src/jobs/jobs.ts'
import { NO_PROGRESS, readConnection, type RoundProgress } from '../../src/pull/connections.ts'
import { pullDue } from '../../src/pull/scheduled.ts'
import { openSecret } from '../../src/pull/stored-key.ts'
import { makeFolder } from '../support/command.ts'
import { allowSignIn, type Seen, visitor } from '../support/dashboard.ts'
import { account, lockTemplate, partnership, trainingSession } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { SOURCE_TOKEN, SourceWorld, type SourceServerOptions, startSource } from '../support/sources/source-server.ts'

const ME = 4711

const makeWorld = () =>
  new SourceWorld().add(
    account(ME, 'alex'),
    lockTemplate(1, ME),
    ...Array.from({ length: 20 }, (_, index) => trainingSession(index + 1, ME)),
  )

/** Ann is signed in to a service that may ask one source, where she is alex. */
async function setUp(more: Partial<SourceServerOptions> = {}, lines: readonly object[] = [account(1, 'ann')]) {
  const folder = await makeFolder()
  const source = await startSource({ world: makeWorld(), me: ME, identity: '/users/me', ...more })
  const settings = { LOCKSTEP_SECRET_FILE: folder.file('secret'), LOCKSTEP_SOURCE_ORIGINS: source.url }
  const service = await startService(lines, settings)
  const config = { ...readConfig(settings), databaseUrl: service.databaseUrl }
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  return {
    service,
    source,
    ann,
    db: service.store.db,
    check: (key = SOURCE_TOKEN, every = '60') => ann.post('/source/connect', { origin: source.url, key, every }),
    /** What the process does that `serve` starts. */
    async pull() {
      await pullDue({
        holder: randomUUID(),
        store: service.store,
        secret: openSecret(config),
        send: fetch,
        quota: config,
        rate: 0,
        clock: systemClock,
        stop: new AbortController().signal,
        onProblem: problem => assert.fail(String(problem)),
      })
    },
    /** As after ten minutes without a proof of identity. */
    async age() {
      await service.store.db.updateTable('browser_session').set({ confirmed_at: 1 }).execute()
    },
    async eventTypes() {
      const events = await service.store.db.selectFrom('account_event').select('kind').orderBy('id').execute()
      return events.map(({ kind }) => kind).filter(kind => kind.startsWith('source-'))
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await source[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

type Setup = Awaited<ReturnType<typeof setUp>>

async function connected(it: Setup, every = '60') {
  assert.equal((await it.check(SOURCE_TOKEN, every)).to, '/source/start')
  assert.equal((await it.ann.post('/source/start')).to, '/source')
}

test('an address and a key are checked, the page asks whose key it is, and then the records come', async () => {
  await using it = await setUp({ withoutLists: ['/lkbx'] })
  const { ann, db } = it
  const form = await ann.get('/source/connect')
  for (const name of ['origin', 'key', 'every']) assert.match(form.text, new RegExp(`name="${name}"`))
  assert.equal((await it.check()).to, '/source/start')
  assert.equal(await readConnection(it.service.store, 1), undefined, 'nothing is stored before the answer')
  const asked = await ann.get('/source/start')
  assert.match(asked.text, /The key belongs to alex there\. Is that you\?/)
  assert.match(asked.text, /<dt>It does not offer<\/dt><dd>Lock devices<\/dd>/)
  assert.match(asked.text, /Your account here gets the number 4711/)
  assert.equal((await ann.post('/source/start')).to, '/source')
  const busy = await ann.get('/source')
  assert.match(busy.text, /http-equiv="refresh"/)
  assert.match(busy.text, /Connecting with the key of alex/)
  await it.pull()
  const { text } = await ann.get('/source')
  assert.match(
    text,
    /New records are looked for again in [^]*<span>21 of 21 records<\/span> <span>complete as of (\d+ \w+( \d{4})?, )?\d\d:\d\d</,
  )
  assert.doesNotMatch(text, /http-equiv="refresh"/)
  assert.equal((await db.selectFrom('training_session').select('id').execute()).length, 20)
  assert.deepEqual(await it.eventTypes(), ['source-connected'])
})

test('the key is in no page, no redirect and no cookie that can be read', async () => {
  await using it = await setUp()
  const { ann } = it
  const seen: Seen[] = [await it.check(), await ann.get('/source/start')]
  const cookies = [...ann.cookies.values()].join()
  seen.push(await ann.post('/source/start'), await ann.get('/source'), await it.check('wrong-key-9876'))
  const forgotten = await ann.post('/source/forget')
  assert.match((await ann.get(forgotten.to ?? '')).text, /The source and its key are forgotten\. All records/)
  seen.push(await it.check('wrong-key-9876'), await ann.get('/source/key'))
  const all = seen.map(({ text, headers }) => text + JSON.stringify([...headers])).join() + cookies
  assert.doesNotMatch(all, new RegExp(`${SOURCE_TOKEN}|wrong-key-9876`))
  const shown = await it.check('wrong-key-9876')
  assert.equal(shown.status, 422)
  assert.match(shown.text, /refuses the API key/)
  assert.match(shown.text, new RegExp(`name="origin"[^>]*value="${it.source.url}"`))
})

test('a proof of identity comes before each form with a key, and one that came late leads to the form', async () => {
  await using it = await setUp()
  const { ann } = it
  await it.age()
  assert.doesNotMatch((await ann.get('/source')).text, /name="key"/)
  assert.equal((await ann.get('/source/connect')).to, '/signin?again=1&next=%2Fsource%2Fconnect')
  assert.equal((await it.check()).status, 303)
  assert.equal(it.source.requests.length, 0)
  const kept = await ann.get('/source/connect')
  assert.doesNotMatch(kept.text, new RegExp(SOURCE_TOKEN))
  await ann.signIn('ann')
  await it.check()
  await it.age()
  assert.equal((await ann.post('/source/start')).status, 303)
  assert.equal(await readConnection(it.service.store, 1), undefined)
})

test('whoever answers no, or somebody else in the same browser, starts nothing', async () => {
  await using it = await setUp({}, [account(1, 'ann'), account(2, 'ben')])
  const { ann } = it
  await it.check()
  assert.equal((await ann.post('/source/start', { answer: 'no' })).to, '/source/connect')
  assert.equal((await ann.get('/source/start')).to, '/source')
  await it.check()
  await allowSignIn(it.service, 'ben')
  await ann.signIn('ben')
  assert.equal((await ann.get('/source/start')).to, '/source')
  await ann.post('/source/start')
  assert.equal(await readConnection(it.service.store, 1), undefined)
  assert.equal(await readConnection(it.service.store, 2), undefined)
})

test('records of a number that the account cannot take are not connected, and the page does not say why', async () => {
  for (const others of [[lockTemplate(9, 1)], [account(ME, 'bob')]]) {
    await using it = await setUp({}, [account(1, 'ann'), ...others])
    await it.check()
    const { text } = await it.ann.get('/source/start')
    assert.match(text, /carry the number 4711, and your account here cannot take it/)
    assert.match(text, /--account 4711/)
    assert.doesNotMatch(text, /bob/)
    for (const sent of [await it.ann.post('/source/start'), await it.check(), await it.ann.post('/source/start')])
      assert.equal(sent.status, 303)
    assert.equal(await readConnection(it.service.store, 1), undefined)
  }
})

test('a source that refuses the key is said with its time, what is kept and what to do; another key goes on', async () => {
  await using it = await setUp()
  const { ann, source } = it
  await connected(it)
  await it.pull()
  source.fault = () => ({ status: 403, body: '{"ok":false,"code":"subscription_required"}' })
  await ann.post('/source/pull')
  await it.pull()
  const { text } = await ann.get('/source')
  assert.match(
    text,
    /role="alert"><strong>127\.0\.0\.1:\d+ has refused the key since \d\d:\d\d\.<\/strong> It was revoked/,
  )
  assert.match(text, /Everything up to \d\d:\d\d is kept\. The next try is in (under a|1)\sminute\./)
  assert.match(text, /<a class="button primary" href="\/source\/key">Change key<\/a>/)
  assert.match(text, />Key refused</)
  assert.doesNotMatch(text, />Connected<|>Copy now</)
  await ann.post('/source/pull')
  const again = (await ann.get('/source')).text
  assert.match(again, /http-equiv="refresh"[^]*Connecting with the key of alex/)
  assert.doesNotMatch(again, /role="alert"/)
  await it.db
    .updateTable('job')
    .set({ next_at: Date.now() - 120_000 })
    .execute()
  await it.db.updateTable('source_connection').set({ failure: null }).execute()
  const waiting = (await ann.get('/source')).text
  assert.match(waiting, /The next round waits for its turn\./)
  assert.doesNotMatch(waiting, /http-equiv="refresh"/)
  source.fault = path => (path === '/users/me' ? { status: 200, body: '{"ok":true,"data":{"id":5}}' } : undefined)
  assert.match((await ann.post('/source/key', { key: SOURCE_TOKEN })).text, /the key belongs to another account there/)
  source.fault = undefined
  assert.equal((await ann.post('/source/key', { key: 'wrong' })).status, 422)
  assert.equal((await ann.post('/source/key', { key: SOURCE_TOKEN })).to, '/source')
  await it.pull()
  assert.doesNotMatch((await ann.get('/source')).text, /role="alert"/)
  assert.deepEqual(await it.eventTypes(), ['source-connected', 'source-refused', 'source-key-changed'])
  assert.match((await ann.get('/settings/events')).text, /Source refused its API key: <strong>http:\/\/127/)
})

test('copying stops, continues and is asked for again', async () => {
  await using it = await setUp()
  const { ann } = it
  await connected(it)
  await ann.post('/source/stop')
  const stopped = (await ann.get('/source')).text
  assert.match(stopped, /Nothing was copied yet\. Stopped: what was copied is kept\./)
  assert.doesNotMatch(stopped, /http-equiv="refresh"/)
  await it.pull()
  assert.equal(it.source.requests.filter(path => path.startsWith('/dtt/sessions?limit=100')).length, 0)
  await ann.post('/source/continue')
  await it.pull()
  assert.match((await ann.get('/source')).text, />21 of 21 records.+>0 lock sessions<.+>20 training sessions</)
  await ann.post('/source/pull')
  await it.pull()
  const rounds = (await ann.get('/source')).text.split('aria-label="What came in"')[1] ?? ''
  assert.equal(rounds.match(/<tr>/g)?.length, 1 + 2)
  assert.doesNotMatch(rounds, /Not complete/)
})

test('while a copy is not complete, every page that sums it up says so, with a link to Source for its owner', async () => {
  await using it = await setUp()
  const { ann } = it
  await connected(it)
  await it.pull()
  const said = async (path: string) =>
    /not complete yet: (\d+) records so far\. <a href="\/source">/.exec((await ann.get(path)).text)?.[1]
  const paths = ['/', '/training', '/programs', '/locks', '/lock-templates', '/year']
  for (const path of paths) assert.equal(await said(path), undefined, path)
  await it.db.updateTable('pull_source').set({ completed_at: null }).execute()
  for (const path of paths) assert.equal(await said(path), '21', path)
  assert.equal(await said('/keys'), undefined)
})

test('a source without a list of programs is not said to have none where sessions name them', async () => {
  await using it = await setUp({ withoutLists: ['/dtt/templates'] })
  await it.check()
  const { text } = await it.ann.get('/source/start')
  assert.match(text, /It has no list of programs\. Those of your sessions are copied one by one\./)
  assert.doesNotMatch(text, /does not offer<\/dt><dd>[^<]*Programs/)
})

test('a source that is forgotten keeps its records, and its key is gone', async () => {
  await using it = await setUp()
  const { ann } = it
  await connected(it)
  await it.pull()
  assert.match((await ann.get('/source/forget')).text, /All records that were copied stay/)
  await ann.post('/source/forget')
  assert.equal(await readConnection(it.service.store, ME), undefined)
  assert.match((await ann.get('/source')).text, /21 of 21 records[^]*href="\/source\/connect"/)
  assert.deepEqual(await it.eventTypes(), ['source-connected', 'source-forgotten'])
})

test('every failure has a sentence that says what to do, or who can', async () => {
  await using it = await setUp()
  await connected(it)
  await it.pull()
  const said = new Map<string, string>()
  const failures = 'away refused not-api account removed key key-expired interrupted full disk-full internal'
  for (const failure of failures.split(' ')) {
    await it.db.updateTable('source_connection').set({ failure, failing_since: 1, refused_since: 1 }).execute()
    const [, sentence = ''] = /role="alert">(.*?)<\/p>/.exec((await it.ann.get('/source')).text) ?? []
    said.set(failure, sentence)
    assert.match(sentence, /^<strong>[^a-z]?[A-Z0-9].*\.<\/strong> .*Everything up to \d\d:\d\d is kept\./, failure)
  }
  assert.equal(said.get('removed'), said.get('account'), 'nobody is told which accounts were here')
  assert.equal(new Set(said.values()).size, said.size - 1)
})

test('a key that was stored with another secret is asked for again', async () => {
  await using it = await setUp()
  await connected(it)
  await it.pull()
  await it.db.updateTable('source_connection').set({ secret_id: 'of another machine' }).execute()
  const { text } = await it.ann.get('/source')
  assert.match(text, /The stored key cannot be read any more/)
  assert.match(text, /<a class="button primary" href="\/source\/key">/)
})

test('a service that may not copy says so, with the setting and the commands of the operator', async () => {
  const settings = { LOCKSTEP_PULL: 'off' }
  await using service = await startService([account(1, 'ann')], settings)
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const { text } = await ann.get('/source')
  assert.match(text, /LOCKSTEP_PULL/)
  assert.match(text, /--account 1\b/)
  assert.doesNotMatch(text, /name="key"/)
  assert.equal((await ann.get('/source/connect')).to, '/source')
})

test('sessions whose owner the source does not tell are stored after one answer', async () => {
  const world = new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    trainingSession(1, 1),
    trainingSession(2, 1),
  )
  await using it = await setUp({ world, me: 1, others: [2], identity: '/users/me', withoutLists: ['/dtt'] })
  const { ann } = it
  await connected(it)
  await it.pull()
  assert.match((await ann.get('/source')).text, /2 records could not be stored[^]*These 2 are mine/)
  await ann.post('/source/mine')
  assert.equal((await it.db.selectFrom('training_session').select('id').execute()).length, 2)
  assert.doesNotMatch((await ann.get('/source')).text, /could not be stored|are mine/)
})

test('rejected rows are tried again', async () => {
  await using it = await setUp()
  const { ann, db } = it
  await connected(it)
  await it.pull()
  const source = it.source.url
  const raw = JSON.stringify(lockTemplate(77, ME))
  const seen = { first_seen_at: 1, last_seen_at: 1 }
  const row = { source, row_key: 'k', kind: 'lock-template', record_id: 77, owner_id: ME, account_id: ME }
  await db
    .insertInto('set_aside')
    .values({ ...row, ...seen, reason: 'it was odd', raw, encoding: 'utf-8' })
    .execute()
  assert.match((await ann.get('/source')).text, /1 record could not be stored[^]*Try again/)
  const retried = await ann.post('/source/retry')
  const { text } = await ann.get(retried.to ?? '')
  assert.match(text, /role="status">Tried again\./)
  assert.doesNotMatch(text, /could not be stored/)
})

test('what is gone at the source is removed after its numbers were shown', async () => {
  await using it = await setUp()
  const { ann, db } = it
  await connected(it)
  await it.pull()
  assert.equal((await ann.get('/source/gone')).to, '/source')
  await db.updateTable('pull_row').set({ missing_at: 1, gone_at: 2 }).where('id', 'in', [2, 3]).execute()
  assert.match(
    (await ann.get('/source')).text,
    /<span>21 of 21 records<\/span> <span>2 no longer there, kept here<\/span> <span>complete as of [^<]*<[^]*href="\/source\/gone">Remove what is no longer there \(2\)/,
  )
  const { text } = await ann.get('/source/gone')
  assert.match(text, /<td>Training sessions<\/td><td class="number">2<\/td><td class="number">20<\/td>/)
  assert.match(text, /Remove 2 records/)
  const changed = await ann.post('/source/gone', { count: '1' })
  assert.match(changed.text, /That has changed meanwhile/)
  assert.equal((await ann.post('/source/gone', { count: '2' })).to, '/source')
  assert.equal((await db.selectFrom('training_session').select('id').execute()).length, 18)
  assert.deepEqual(await it.eventTypes(), ['source-connected', 'source-gone-removed'])
})

test('numbers of lock sessions are kept for the next round, and a text that is none is shown again', async () => {
  await using it = await setUp()
  const { ann } = it
  await connected(it)
  await it.pull()
  const wrong = await ann.post('/source/locks', { numbers: 'all of them' })
  assert.equal(wrong.status, 422)
  assert.match(wrong.text, /value="all of them"/)
  await ann.post('/source/locks', { numbers: '12,15-17' })
  assert.match((await ann.get('/source/locks')).text, /value="12,15-17"/)
  await it.pull()
  assert.ok(it.source.requests.some(path => path.startsWith('/lkbx/sessions/16')))
  assert.match(
    (await ann.get('/source')).text,
    /That server has no lock sessions 12, 15, 16, 17, or does not show them/,
  )
})

test('Overview says when the source has refused the key for a day, to its owner alone', async () => {
  await using it = await setUp({}, [account(1, 'ann'), account(2, 'ben'), partnership(1, 2), partnership(2, 1)])
  const { ann, db } = it
  const since = Date.now() - DAY_MS
  await db
    .insertInto('source_connection')
    .values({
      account_id: 1,
      origin: 'https://history.example',
      every_minutes: 60,
      sealed_key: 'x',
      secret_id: 'x',
      failure: 'refused',
      refused_since: since,
      known_locks: '',
      mine: 0,
    })
    .execute()
  const job = { name: pullJob(1), state: 'waiting', attempts: 30, report: NO_PROGRESS } as const
  await db.insertInto('job').values(job).execute()
  const notice = /history\.example has refused your key since/
  assert.match((await ann.get('/')).text, notice)
  await ann.post('/subject', { subject: '2' })
  assert.doesNotMatch((await ann.get('/')).text, notice)
  await ann.post('/subject', { subject: '1' })
  await db
    .updateTable('source_connection')
    .set({ refused_since: since + 60_000 })
    .execute()
  assert.doesNotMatch((await ann.get('/')).text, notice)
})

test('in discreet mode no page names the server', async () => {
  await using it = await setUp()
  const { ann } = it
  await connected(it)
  await it.pull()
  await ann.post('/display', { discreet: '1' })
  for (const path of ['/source', '/source/key', '/source/forget', '/source/locks'])
    assert.doesNotMatch((await ann.get(path)).text.replaceAll(/href="[^"]*"/g, ''), /127\.0\.0\.1/, path)
})

test('while records come, each kind says how many there are if that is known, and how long it takes', async () => {
  await using it = await setUp()
  await connected(it)
  const shown = async (read: number) => {
    const progress = JSON.stringify({
      read: [
        { kind: 'lock-template', read: 1, total: 0 },
        { kind: 'training-session', read, total: 20 },
      ],
    })
    await it.db
      .updateTable('source_connection')
      .set({ started_at: Date.now() - 60_000 })
      .execute()
    await it.db.updateTable('job').set({ state: 'running', report: progress }).execute()
    const { text } = await it.ann.get('/source')
    const cells = (kind: string) =>
      new RegExp(`<td>${kind}</td><td class="number">([^<]*)</td><td class="number">([^<]*)</td>`).exec(text)?.slice(1)
    return {
      text,
      templates: cells('Lock templates'),
      sessions: cells('Training sessions'),
      programs: cells('Programs'),
    }
  }
  const first = await shown(10)
  assert.deepEqual(
    [first.templates, first.sessions, first.programs],
    [
      ['1', '–'],
      ['10', '–'],
      ['0', '–'],
    ],
  )
  assert.match(first.text, /11 records so far\.</)
  await it.db.updateTable('job').set({ state: 'due' }).execute()
  await it.pull()
  const later = await shown(10)
  assert.deepEqual([later.templates, later.sessions, later.programs], [['1', '1'], ['10', '20'], undefined])
  assert.match(later.text, /Looking for changes/)
  assert.match(later.text, /11 of 21 records checked\. About 5\d\ss left\./)
  assert.match((await shown(25)).text, /26 of 26 records checked\.</)
})

test('while nothing arrives, the page says what is waited for', async () => {
  await using it = await setUp()
  await connected(it)
  const shown = async (pause: RoundProgress['pause']) => {
    const progress = JSON.stringify({ read: [], pause } satisfies RoundProgress)
    await it.db.updateTable('job').set({ state: 'running', report: progress }).execute()
    return (await it.ann.get('/source')).text
  }
  const later = Date.now() + 90_500
  assert.match(
    await shown({ reason: 'limit', until: later }),
    /Waiting for 1\smin \d+\ss: that server may not be asked more/,
  )
  assert.match(await shown({ reason: 'away', until: 1 }), /That server does not answer now\. It is asked again\./)
  for (const pause of [undefined, { reason: 'limit', until: 1 } as const])
    assert.match(await shown(pause), /Nothing has arrived yet\.<\/p>/)
})
