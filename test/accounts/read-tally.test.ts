// engine: any
import { test } from 'node:test'
import { seeded, type Random } from '../../src/demo/random.ts'
import assert from 'node:assert/strict'
import { listReads } from '../../src/accounts/read-log-queries.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { giveAccess } from '../support/sharing.ts'
import { allowSignIn, type Visitor, visitor } from '../support/dashboard.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const count = Number(process.env['READS'] ?? 300)

test(`after ${count} reads of any route and page, the log of each owner has what was read, and nothing else`, () =>
  compareReads(count, seeded(7)))

/** Counts the reads of three people independently, to compare the log of reads with. */

const areas = ['lkbx', 'dtt'] as const
type Area = (typeof areas)[number]
const names = ['ann', 'ben', 'cas'] as const
const owners = [1, 2, 3]

/** The access: Ann and Ben read each other, one of them only training; Ann reads the locks of Cas. */
const given: readonly { owner: number; partner: number; areas: readonly Area[] }[] = [
  { owner: 1, partner: 2, areas },
  { owner: 2, partner: 1, areas: ['dtt'] },
  { owner: 3, partner: 1, areas: ['lkbx'] },
]

/** Each has one record of each kind, with the identifier of the account; the program of Cas is public. */
const lines = owners.flatMap(id => [
  account(id, names[id - 1] ?? ''),
  lockTemplate(id, id),
  lockDevice(id, id),
  lockSession(id, id, { isActive: id !== 2 }, { templateId: id }),
  trainingTemplate(id, id, { isActive: true, isPublic: id === 3 }),
  trainingDevice(id, id),
  trainingSession(id, id, { settings_id: id }),
])

/** What the log has of a read, except its hour and count. */
type Counted = readonly [owner: number, area: Area, kind: 'list' | 'record' | 'statistics' | 'export']

interface Reader {
  readonly id: number
  readonly tokens: readonly { readonly text: string; readonly name: string; readonly isShared: boolean }[]
  readonly browser: Visitor
}

/** Sends this number of random reads, and compares the log of each owner with an independent count. */
async function compareReads(count: number, random: Random) {
  await using service = await startService(lines, unlimited)
  for (const { owner, partner, areas } of given) {
    await giveAccess(service.store, { ownerId: owner, partnerId: partner }, { areas })
  }
  const readers = await Promise.all(names.map((name, index) => readerOf(service, index + 1, name)))
  const tally = new Map<string, number>()
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[random.whole(0, items.length - 1)]
    if (item === undefined) throw new Error('there is nothing to choose from')
    return item
  }
  for (let sent = 0; sent < count; sent += 1) {
    const reader = pick(readers)
    const isPage = random.chance(PAGES)
    const keys = isPage ? await readPage(reader, pick) : await readApi(service, reader, pick)
    for (const key of keys) tally.set(key, (tally.get(key) ?? 0) + 1)
  }
  // Collected reads are written when the service ends.
  await service.service.close()
  const logged = new Map<string, number>()
  for (const owner of owners) {
    for (const row of await listReads(service.store, owner, { limit: 1000 })) {
      const token = row.readerId === owner ? (row.tokenName ?? '') : ''
      const key = [row.readerId, row.via, token, owner, row.area, row.kind].join(' ')
      logged.set(key, (logged.get(key) ?? 0) + row.count)
    }
  }
  assert.ok(tally.size > 20, `${tally.size} combinations`)
  assert.deepEqual(sorted(logged), sorted(tally))
}

/** A page costs much more than a read by API. */
const PAGES = 0.15

async function readerOf(service: TestService, id: number, name: string): Promise<Reader> {
  await allowSignIn(service, name)
  const browser = visitor(service.url)
  await browser.signIn(name)
  const tokens = [
    { text: await service.token(name, { name: 'all of it' }), name: 'all of it', isShared: true },
    {
      text: await service.token(name, { name: 'mine', scopes: ['lkbx:read', 'dtt:read'] }),
      name: 'mine',
      isShared: false,
    },
  ]
  return { id, tokens, browser }
}

type Pick = <Item>(items: readonly Item[]) => Item

/** The key of a row of the log. */
function keyOf(reader: string, read: Counted): string {
  return [reader, ...read].join(' ')
}

/** Every route of records, by what follows the area. Those that do not mix are of the caller, unless somebody is named. */
const routes = [
  { path: 'sessions', kind: 'list', mixes: true },
  { path: 'templates', kind: 'list', mixes: true },
  { path: '', kind: 'list', mixes: false },
  { path: 'sessions/latest', kind: 'record', mixes: false },
  { path: 'templates/active', kind: 'record', mixes: false },
  { path: 'session/current', kind: 'record', mixes: false },
  { path: 'stats', kind: 'statistics', mixes: false },
  { path: 'sessions/:id', kind: 'record', mixes: false },
  { path: 'templates/:id', kind: 'record', mixes: false },
  { path: ':id', kind: 'record', mixes: false },
] as const

async function readApi(service: TestService, { id, tokens }: Reader, pick: Pick): Promise<readonly string[]> {
  const token = pick(tokens)
  const readable = (area: Area) => (token.isShared ? readableBy(id, area) : [id])
  const named = pick([0, 1, 2, 3]) || undefined
  const method = pick(['GET', 'GET', 'HEAD'])
  const send = async (path: string) => {
    const headers = { Authorization: `Bearer ${token.text}` }
    const first = await fetch(`${service.url}/api/v1/${path}`, { method, headers })
    await first.arrayBuffer()
    const etag = first.headers.get('ETag')
    if (etag === null || pick([true, false, false])) return [first.status]
    const again = await fetch(`${service.url}/api/v1/${path}`, { headers: { ...headers, 'If-None-Match': etag } })
    return [first.status, again.status]
  }
  // Neither is a read of records.
  if (pick([true, ...Array.from({ length: 20 }, () => false)])) {
    await send(pick(['me', 'users', 'me/access', 'me/reads', 'users/1']))
    return []
  }
  const { path, reads } = chooseRead()
  const statuses = await send(path)
  const isAllowed = reads.length > 0
  assert.deepEqual(
    statuses.map(status => status === 200 || status === 304),
    statuses.map(() => isAllowed),
    `${path} ${statuses.join()}`,
  )
  return statuses.flatMap(() => reads.map(read => keyOf(`${id} token ${read[0] === id ? token.name : ''}`, read)))

  function chooseRead(): { path: string; reads: readonly Counted[] } {
    if (pick([true, ...Array.from({ length: 10 }, () => false)])) {
      const owner = named ?? id
      const reads = areas.flatMap(area =>
        readable(area).includes(owner) ? [[owner, area, 'statistics'] as const] : [],
      )
      return { path: `status${named === undefined ? '' : `?ownerId=${named}`}`, reads }
    }
    const area = pick(areas)
    const { path, kind, mixes } = pick(routes.filter(({ path }) => area === 'lkbx' || path !== 'session/current'))
    if (path.includes(':id')) {
      const owner = pick(owners)
      const isPublic = area === 'dtt' && path === 'templates/:id' && owner === 3
      const reads = isPublic || readable(area).includes(owner) ? [[owner, area, kind] as const] : []
      return { path: `${area}/${path.replace(':id', String(owner))}`, reads }
    }
    const read = named === undefined ? (mixes ? readable(area) : [id]) : readable(area).filter(one => one === named)
    const query = named === undefined ? '' : `?ownerId=${named}`
    return { path: `${area}${path === '' ? '' : `/${path}`}${query}`, reads: read.map(owner => [owner, area, kind]) }
  }
}

/** Pages of records and of none, by the kind of read. */
const shownPages = pages
  .filter(({ method, path, isExport = false }) => method === undefined && path !== '/live' && !isExport)
  .map(({ path, area }) => ({
    path,
    areas: area === undefined ? [] : area === 'both' ? areas : [area],
    kind: kindOf(path),
  }))
  .filter(({ path, areas }) => areas.length > 0 || ['/keys', '/settings'].includes(path))

/** By the path alone, independently of what the page declares. */
function kindOf(path: string): Counted[2] {
  if (/\.(csv|ndjson|svg)$/.test(path)) return 'export'
  if (path.endsWith('/:id') && path !== '/year/:id') return 'record'
  return ['/', '/year', '/year/:id'].includes(path) ? 'statistics' : 'list'
}

async function readPage({ id, browser }: Reader, pick: Pick): Promise<readonly string[]> {
  const subject = pick(owners.filter(owner => areas.some(area => readableBy(id, area).includes(owner))))
  await browser.post('/subject', { subject: String(subject), back: '/' })
  const page = pick(shownPages)
  const isYear = page.path === '/year/:id'
  const owner = page.path.includes(':id') && !isYear ? pick(owners) : undefined
  const named = owner ?? new Date().getUTCFullYear()
  const { status } = await browser.get(page.path.replace(':id', String(named)))
  const reads = page.areas.flatMap((area): Counted[] => {
    // A program is shown with the sessions of the subject.
    const shown = owner === undefined ? [subject] : page.path === '/programs/:id' ? [owner, subject] : [owner]
    if (owner !== undefined && !readableBy(id, area).includes(owner)) return []
    const others = new Set(shown.filter(one => one !== id && readableBy(id, area).includes(one)))
    return [...others].map(one => [one, area, page.kind])
  })
  const isFound = owner === undefined || page.areas.every(area => readableBy(id, area).includes(owner))
  assert.equal(status, isFound ? 200 : 404, page.path)
  return reads.map(read => keyOf(`${id} dashboard `, read))
}

/** The accounts whose records of an area somebody may read. */
function readableBy(id: number, area: Area): number[] {
  const others = given.filter(one => one.partner === id && one.areas.includes(area)).map(({ owner }) => owner)
  return [id, ...others]
}

function sorted(counts: ReadonlyMap<string, number>) {
  return Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
