// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { get } from 'node:http'
import { after, before, test } from 'node:test'
import { pages } from '../../src/dashboard/routes.ts'
import { sampleService, type Visitor, signInAs, visitorAs } from '../support/dashboard.ts'
import type { TestService } from '../support/service.ts'
import { settledPage, upload } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

let service: TestService
let alex: Visitor

before(async () => {
  service = await sampleService()
  alex = await visitorAs(service.url, 'alex')
  // Its list of rejected lines is one of the files.
  await upload(service.url, alex, { a: 'no record\n' })
  await settledPage(alex)
})

after(() => service[Symbol.asyncDispose]())

/** The tables whose rows pages show one at a time, by the path of their page. */
const tables = {
  '/locks/:id': 'lock_session',
  '/lock-templates/:id': 'lock_template',
  '/training/:id': 'training_session',
  '/programs/:id': 'training_template',
} as const

/** The address of every file that a page of the dashboard offers. */
async function downloads(): Promise<string[]> {
  const files = pages.filter(page => page.isDownload).map(({ path }) => path)
  for (const [path, table] of Object.entries(tables)) {
    const row = await service.store.db
      .selectFrom(table)
      .select('id')
      .where('owner_id', '=', 1)
      .executeTakeFirstOrThrow()
    files.push(`${path.replace(':id', String(row.id))}?view=data&file`)
  }
  return files
}

test('no file is sent to a link on another site, or on another host of the same site', async () => {
  const files = await downloads()
  assert.ok(files.length >= 12)
  for (const file of files) {
    for (const site of ['cross-site', 'same-site', '', 'unknown']) {
      const { status, headers, text } = await alex.get(file, { 'Sec-Fetch-Site': site })
      assert.deepEqual([status, headers.get('Content-Disposition')], [403, null], `${file} from ${site}`)
      assert.match(text, /<h1>That did not work<\/h1>[^]*was started by another site, and nothing was sent/)
    }
    for (const site of [{}, { 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }]) {
      const { status, headers } = await alex.get(file, site)
      assert.equal(status, 200, file)
      assert.match(headers.get('Content-Disposition') ?? '', /^attachment; /, file)
    }
  }
  const bare = await fetch(`${service.url}/settings/export`, {
    headers: { Cookie: `session=${alex.cookies.get('session')}`, 'Sec-Fetch-Site': 'cross-site' },
  })
  assert.deepEqual([bare.status, ((await bare.json()) as { code: string }).code], [403, 'cross_site_download'])
})

test('every page that sends a file is among the downloads that these tests check', async () => {
  const files = new Set((await downloads()).map(file => file.replace(/\/\d+/, '/:id').replace('?view=data&file', '')))
  const paths = pages.filter(({ method, path }) => method !== 'POST' && !/:id\//.test(path)).map(({ path }) => path)
  for (const path of paths.filter(path => !files.has(path))) {
    for (const query of ['', '?view=data&file']) {
      const { headers } = await alex.get(path + query)
      assert.equal(headers.get('Content-Disposition'), null, path + query)
    }
  }
})

test('everything of an account is sent once at a time, until its reader is gone', async () => {
  const robin = await signInAs(service, 'robin')
  const { store } = service
  const snapshot = store.snapshot.bind(store)
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  store.snapshot = work => {
    begun.resolve()
    return held.promise.then(() => snapshot(work))
  }
  const cookie = `session=${alex.cookies.get('session')}`
  const first = get(`${service.url}/settings/export`, { headers: { Cookie: cookie } }).on('error', () => {})
  await begun.promise
  store.snapshot = snapshot

  const second = await alex.get('/settings/export')
  assert.deepEqual([second.status, second.headers.get('Retry-After')], [429, '10'])
  assert.match(second.text, /Another export of this account is still being sent/)
  assert.equal(second.headers.get('Content-Disposition'), null)
  assert.equal((await alex.get('/training.csv')).status, 200)
  assert.equal((await robin.get('/settings/export')).status, 200)

  // As the system does for a browser that leaves something unread.
  first.socket?.resetAndDestroy()
  await until(async () => (await alex.get('/settings/export')).status === 200)
  held.resolve()
  assert.equal((await alex.get('/settings/export')).status, 200, 'one that has ended does not count')
})

test('in discreet mode CSV files have no names, and pages say that NDJSON files have', async () => {
  const says = /NDJSON has names and texts as they are stored/
  const csv = async () => (await alex.get('/locks.csv?range=all')).text
  const [, name = ''] = /^\d+,([^,]+),/m.exec(await csv()) ?? []
  assert.doesNotMatch((await alex.get('/settings')).text, says)
  await alex.post('/display', { discreet: '1' })
  assert.match((await alex.get('/settings')).text, says)
  assert.ok(name !== '' && !(await csv()).includes(`,${name},`), name)
  await alex.post('/display', { discreet: '0' })
})
