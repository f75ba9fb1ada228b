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

/** The address of every file that a page of the dashboard offers. */
const downloads = pages.filter(page => page.isDownload).map(({ path }) => path)

test('no file is sent to a link on another site, or on another host of the same site', async () => {
  assert.ok(downloads.length >= 8)
  for (const file of downloads) {
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
  const paths = pages.filter(({ method, path }) => method !== 'POST' && !/:id\//.test(path)).map(({ path }) => path)
  for (const path of paths.filter(path => !downloads.includes(path))) {
    const { headers } = await alex.get(path)
    assert.equal(headers.get('Content-Disposition'), null, path)
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
