import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DashboardPage, view } from '../../src/dashboard/page.ts'
import { nothing } from '../../src/dashboard/html.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { sampleService, visitorAs } from '../support/dashboard.ts'
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

test('no two pages answer the same request', () => {
  const requests = pages.map(({ method = 'GET', path }) => `${method} ${path}`)
  assert.deepEqual(
    requests.filter((request, index) => requests.indexOf(request) !== index),
    [],
  )
})
