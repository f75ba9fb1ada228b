// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { partnership, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const RECORD_PAGES = ['/', '/training', '/bests', '/programs', '/locks', '/lock-templates']

test('every page without records offers their owner to bring them in, and nobody else', async () => {
  await using service = await startService([...world, partnership(2, 1)])
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const offered = async (path: string) =>
    (await ann.get(path)).text.includes('<a class="button primary" href="/source">')
  for (const path of RECORD_PAGES) assert.ok(await offered(path), path)
  await ann.post('/subject', { subject: '2' })
  for (const path of RECORD_PAGES) assert.ok(!(await offered(path)), path)
})

test('the page Source is in the account menu, and is about the account that signed in', async () => {
  await using service = await startService([...world, partnership(2, 1)])
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  await ann.post('/subject', { subject: '2' })
  assert.match((await ann.get('/training')).text, /<div class="sheet">[^]*?<a href="\/source">Source<\/a>/)
  const { text } = await ann.get('/source')
  assert.match(text, /<h1>Source<\/h1>/)
  assert.match(text, /--account 1\b/)
  assert.doesNotMatch(text, /Showing /)
})
