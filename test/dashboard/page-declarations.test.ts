import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type DashboardPage, view } from '../../src/dashboard/page.ts'
import { nothing } from '../../src/dashboard/html.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { PASSWORD, sampleService, visitor, visitorAs } from '../support/dashboard.ts'
import { fileAddresses, samplePages } from '../support/page-addresses.ts'

const shown = { path: '/goals', handler: () => view({ title: 'Goals', body: nothing }) }

// The compiler refuses a page that does not say where it is and what it reads.
export const declared: readonly DashboardPage[] = [
  { ...shown, section: 'training', reads: 'list', area: 'dtt' },
  { ...shown, section: 'settings', reads: null },
  // @ts-expect-error it forgets its area
  { ...shown, section: 'training', reads: 'list' },
  // @ts-expect-error it forgets what it reads
  { ...shown, section: 'training', area: 'dtt' },
  // @ts-expect-error it forgets its section
  { ...shown, reads: 'list', area: 'dtt' },
  // @ts-expect-error an area of which it reads nothing
  { ...shown, section: 'settings', reads: null, area: 'dtt' },
]

test('every page and every file reads only records of the area that it declares', async () => {
  await using service = await sampleService()
  const alex = await visitorAs(service.url, 'alex')
  for (const path of [...samplePages, ...fileAddresses]) assert.equal((await alex.get(path)).status, 200, path)
})

test('below a path, every address in a page and every redirect begins with that path', async () => {
  await using service = await sampleService({ LOCKSTEP_PUBLIC_URL: 'http://localhost/lockstep' })
  const alex = visitor(service.url)
  const signedIn = await alex.post('/signin', { username: 'alex', password: PASSWORD })
  assert.equal(signedIn.to, '/lockstep/')
  for (const path of ['/nothing-here', '/docs', ...samplePages]) {
    const { text: page } = await alex.get(path)
    // The value of a field is for the service, which has no prefix, and scripts put it before that of a chart.
    const addresses = [...page.matchAll(/ (?!value=|data-select=)[a-z-]+="(\/[^"]*)"/g)].map(([, to = '']) => to)
    assert.ok(addresses.length > 0, path)
    assert.deepEqual(
      addresses.filter(to => !to.startsWith('/lockstep/')),
      [],
      path,
    )
  }
})

test('scripts of pages name no path of the service but by the function that puts the prefix before it', () => {
  const folder = join(import.meta.dirname, '../../src/dashboard/assets')
  const scripts = readdirSync(folder).filter(name => name.endsWith('.js'))
  assert.ok(scripts.length > 5)
  const literals = scripts.flatMap(name => {
    const text = readFileSync(join(folder, name), 'utf8')
    return [...text.matchAll(/(?<!\bto\()(['"`])\/[a-z][^'"`\n]*\1/g)].map(([literal]) => `${name}: ${literal}`)
  })
  assert.deepEqual(literals, [])
})

test('no two pages answer the same request', () => {
  const requests = pages.map(({ method = 'GET', path }) => `${method} ${path}`)
  assert.deepEqual(
    requests.filter((request, index) => requests.indexOf(request) !== index),
    [],
  )
})
