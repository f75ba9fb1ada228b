// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { partnership, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const RECORD_PAGES = ['/', '/training', '/year', '/programs', '/locks', '/lock-templates']

test('every page without records offers their owner to bring them in, and nobody else', async () => {
  await using service = await startService([...world, partnership(2, 1)])
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const offered = async (path: string) =>
    (await ann.get(path)).text.includes('<a class="button primary" href="/source/connect">')
  for (const path of RECORD_PAGES) assert.ok(await offered(path), path)
  await ann.post('/subject', { subject: '2' })
  for (const path of RECORD_PAGES) assert.ok(!(await offered(path)), path)
})

test('the page Source is in the account menu, and is about the account that signed in', async () => {
  await using service = await startService([...world, partnership(2, 1)], { LOCKSTEP_PULL: 'off' })
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  await ann.post('/subject', { subject: '2' })
  assert.match((await ann.get('/training')).text, /<div class="sheet">[^]*?<a href="\/source">Source<\/a>/)
  const { text } = await ann.get('/source')
  assert.match(text, /<h1>Source<\/h1>/)
  assert.match(text, /--account 1\b/)
  assert.doesNotMatch(text, /class="banner"/)
})

test('the owner sees what was pulled, and what could not be stored by reason; markup in it is shown as text', async () => {
  await using service = await startService(world)
  const { db } = service.store
  const origin = 'https://history.example'
  const now = Date.now()
  const { id } = await db
    .insertInto('pull_source')
    .values({
      account_id: 1,
      origin,
      username: 'ann',
      knows_me: 1,
      capabilities: '{}',
      completed_at: now,
      full_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  for (const row of [1, 2, 3]) {
    const pulled = { source_id: id, kind: 'lock-session', id: row, owner_id: 1, form: '', open_at: null }
    await db
      .insertInto('pull_row')
      .values({ ...pulled, missing_at: null, gone_at: null })
      .execute()
  }
  for (const owner of [1, 2]) {
    const row = {
      source: origin,
      row_key: `k${owner}`,
      kind: 'lock-session',
      record_id: 3,
      owner_id: owner,
      account_id: owner,
    }
    const raw = `{"kind":"lock-session","data":{"name":"<b>of ${owner}</b>"}}`
    const seen = { first_seen_at: now, last_seen_at: now }
    await db
      .insertInto('set_aside')
      .values({ ...row, ...seen, reason: 'data.name is <i>odd</i>', raw, encoding: 'utf-8' })
      .execute()
  }
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const { text } = await ann.get('/source')
  assert.match(text, /<span>2 stored<\/span> <span>1 could not be stored<\/span> <span>as of [^<]*\d\d:\d\d</)
  assert.match(text, /<h2>1 record could not be stored<\/h2>/)
  assert.match(text, /<td[^>]*>data\.name is &lt;i&gt;odd&lt;\/i&gt;/)
  assert.match(text, /&lt;b&gt;of 1&lt;\/b&gt;/)
  assert.doesNotMatch(text, /of 2&lt;|<b>of/)
  const lines = (await ann.get('/source/rejected.ndjson')).text.trim().split('\n')
  assert.deepEqual(
    lines.map(line => (JSON.parse(line) as { id: number; origin: string }).origin),
    [origin],
  )
  await ann.post('/display', { discreet: '1' })
  assert.doesNotMatch((await ann.get('/source')).text, /of 1&lt;/)
})
