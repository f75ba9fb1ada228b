// engine: both
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { importFile } from '../support/archives.ts'
import { signInAs } from '../support/dashboard.ts'
import { account, trainingTemplate } from '../support/records.ts'
import { archiveOf, startService } from '../support/service.ts'

const table = [
  'Recorded,Program,Passed,Grade',
  '2026-02-16 18:00, basics ,yes,80',
  '2026-02-17 18:00,Evening & more,yes,70',
  '2026-02-18 18:00,EVENING & MORE,yes,75',
  '2026-02-19 18:00,No program,yes,75',
  '2026-02-20 18:00,Program 12,no,75',
].join('\n')

const options = { account: 1, onConflict: 'replace' } as const

async function serviceWithTable() {
  const service = await startService([
    account(1, 'ann'),
    account(2, 'ben'),
    trainingTemplate(41, 1, { name: 'Basics' }),
  ])
  await importFile(service, table, options)
  return { service, ann: await signInAs(service, 'ann'), [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test('a session of a table belongs to the program with its name, else the name stays with it on pages, in filters and in files', async () => {
  await using it = await serviceWithTable()
  const page = (await it.ann.get('/training?range=all')).text
  const options = [...page.matchAll(/<option value="(-?\d+)"[^>]*>([^<]*)</g)].map(([, id = '', name]) => [id, name])
  const names = options.map(([, name = '']) => name.toLowerCase()).toSorted()
  assert.deepEqual(names, ['basics', 'evening &amp; more', 'no program'])
  const [chosen] = options.find(([, name]) => /^evening/i.test(name ?? '')) ?? []
  const csv = (await it.ann.get(`/training.csv?range=all&program=${chosen}`)).text.split('\r\n')
  const written = csv.slice(1, -1).map(line => line.split(',').slice(2, 4).join(','))
  assert.deepEqual(written.toSorted(), [',EVENING & MORE', ',Evening & more'])
  for (const path of [
    '/',
    '/training?range=all',
    '/training/900000000',
    '/training/900000003',
    '/year/2026',
    '/training.csv?range=all',
  ])
    assert.doesNotMatch((await it.ann.get(path)).text, /Program (?:0|-|12)/, path)
  assert.match((await it.ann.get('/training/900000003')).text, /No program/)
  assert.match((await it.ann.get('/training/900000000')).text, /<h1>Basics<\/h1>[^]*href="\/programs\/41">Basics</)
  const templates = await it.service.fetch('/api/v1/dtt/templates', 'ann')
  assert.doesNotMatch(templates.text, /Evening/)
})

test('the files of the pages bring their sessions back as they are, also while names are hidden', async () => {
  await using it = await serviceWithTable()
  const before = await it.service.fetch('/api/v1/dtt/sessions', 'ann')
  for (const discreet of ['0', '1']) {
    await it.ann.post('/display', { discreet })
    const csv = (await it.ann.get('/training.csv?range=all')).text
    assert.match(csv, /^\uFEFF?Number,Recorded,Program number,(?:Program,)?Passed/)
    assert.equal(csv.includes('Evening'), discreet === '0')
    const { kinds } = await importFile(it.service, csv, options)
    const { added, replaced, unchanged } = kinds.find(({ kind }) => kind === 'training-session') ?? {}
    assert.deepEqual([added, replaced, unchanged], [0, 0, 5], `discreet ${discreet}`)
  }
  assert.equal((await it.service.fetch('/api/v1/dtt/sessions', 'ann')).text, before.text)
  const page = (await it.ann.get('/training?range=all')).text
  assert.doesNotMatch(page, /Evening|Basics/)
  assert.match(page, /Other program 1/)
})

test('a name of several programs is refused, and the number of one of them is not', async () => {
  await using it = await serviceWithTable()
  await importArchive(it.service.store, archiveOf([trainingTemplate(42, 1, { name: 'BASICS' })]))
  await assert.rejects(importFile(it.service, 'Recorded,Program,Passed\n2026-03-01 18:00,Basics,yes\n', options), {
    errors: [{ line: 2, reason: 'Program is the name of several programs: write the Program number' }],
  })
  await importFile(it.service, 'Recorded,Program number,Program,Passed\n2026-03-01 18:00,42,Anything,yes\n', options)
  const { text } = await it.service.fetch('/api/v1/dtt/sessions?limit=1', 'ann')
  assert.match(text, /"name":"BASICS",.*"settings_id":42,/)
})
