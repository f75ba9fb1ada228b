import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findGrant } from '../../src/accounts/grants.ts'
import { handlers } from '../../src/resources/index.ts'
import { endAccess } from '../../src/accounts/shared-access.ts'
import type { AccessTerms } from '../../src/accounts/access.ts'
import { defaultScopes, type Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { giveAccess } from '../support/sharing.ts'
import { assertRefused, idsOf, withoutRequest } from '../support/responses.ts'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { equalizeRevisions } from '../support/revisions.ts'
import { type TestResponse, startService, type TestService, unlimited } from '../support/service.ts'
import { atOneTime, within } from '../support/waiting.ts'

// engine: any

/**
 * Ann shares with Ben on various terms. What Ben gets must be, byte for byte, what he gets from another service with full access
 * where the records outside of the terms do not exist.
 */

const areas = ['lkbx', 'dtt'] as const
type Area = (typeof areas)[number]

const old = '2026-01-10T12:00:00Z'
const recent = '2026-02-10T12:00:00Z'
const firstDay = Date.parse('2026-02-01')
const known = { asOf: '2026-02-20T12:00:00Z' }

const people = [
  { ...account(1, 'ann'), ...known },
  { ...account(2, 'ben'), ...known },
  { ...account(3, 'cas'), ...known },
  lockSession(21, 2, { startDate: recent, endDate: '2026-02-11T00:00:00Z' }),
  trainingSession(21, 2, { created_at: recent }),
]

/** Ann's records, by area; those of `old` began before the first day. */
const anns = {
  lkbx: [
    lockTemplate(1, 1),
    lockDevice(1, 1),
    lockSession(12, 1, { startDate: recent, endDate: recent }, { templateId: 1 }),
  ],
  dtt: [
    trainingTemplate(1, 1, { isActive: true }),
    trainingDevice(1, 1),
    trainingSession(12, 1, { created_at: recent }),
  ],
  old: [
    // The older one is still active: without access to it there is no active lock.
    lockSession(11, 1, { startDate: old, isActive: true, lockState: 'locked' }, { templateId: 1 }),
    trainingSession(11, 1, { created_at: old, passed: false }),
    trainingSession(10, 1, { created_at: '2026-01-09T12:00:00Z' }),
  ],
}
const all = [...anns.lkbx, ...anns.dtt, ...anns.old]
const annToBen = { ownerId: 1, partnerId: 2 }
const now = Date.now()

const alone = ['lkbx:read', 'dtt:read']

const cases: readonly {
  readonly title: string
  readonly arrange: (service: TestService) => Promise<void>
  readonly scopes?: readonly string[]
  /** The records of Ann in the service to compare with, and whether Ben has access there. */
  readonly visible: readonly object[]
  readonly isPartner: boolean
  /** From which day on the records are shown. */
  readonly recordsFrom?: number
  /** Whether pages are compared, too, without every pair of parameters. */
  readonly hasPages?: boolean
  readonly readable?: readonly Area[]
}[] = [
  { title: 'both areas', arrange: give({}), visible: all, isPartner: true },
  {
    title: 'locks alone',
    arrange: give({ areas: ['lkbx'] }),
    visible: all.filter(({ kind }) => kind.startsWith('lock-')),
    isPartner: true,
    hasPages: true,
    readable: ['lkbx'],
  },
  {
    title: 'training alone',
    arrange: give({ areas: ['dtt'] }),
    visible: all.filter(({ kind }) => kind.startsWith('training-')),
    isPartner: true,
    hasPages: true,
    readable: ['dtt'],
  },
  {
    title: 'records from a day on',
    arrange: give({ recordsFrom: firstDay }),
    visible: [...anns.lkbx, ...anns.dtt],
    isPartner: true,
    recordsFrom: firstDay,
    hasPages: true,
  },
  {
    title: 'access that was ended',
    arrange: async service => {
      await give({})(service)
      await endAccess(service.store, annToBen, now)
    },
    visible: all,
    isPartner: false,
  },
  {
    title: 'access past its end',
    arrange: service => giveAccess(service.store, annToBen, { until: now - 1 }, now - 2),
    visible: all,
    isPartner: false,
  },
  { title: 'a token without shared:access', arrange: give({}), scopes: alone, visible: all, isPartner: false },
]

function give(terms: Partial<AccessTerms>) {
  return ({ store }: TestService) => giveAccess(store, annToBen, terms, now)
}

for (const {
  title,
  arrange,
  scopes = defaultScopes,
  visible,
  isPartner,
  recordsFrom = null,
  hasPages = false,
  readable = areas,
} of cases) {
  test(`with ${title}, records outside the access do not exist: in lists, records, cursors, statistics, pages and downloads`, async () => {
    await using service = await startService([...people, ...all], unlimited)
    await arrange(service)
    await using other = await startService([...people, ...visible], unlimited)
    // On the same terms, which validators follow from.
    if (isPartner) await giveAccess(other.store, annToBen, { areas: readable, recordsFrom }, now)
    for (const { store } of [service, other]) await equalizeRevisions(store)
    const [token, otherToken] = [await service.token('ben', { scopes }), await other.token('ben', { scopes })]

    let compared = 0
    for (const { address, area, names } of addresses()) {
      for (let path: string | undefined = address; path !== undefined;) {
        const answer = await service.fetch(path, token)
        const isHidden = area !== undefined && !readable.includes(area) && names.includes('ownerId=1')
        const same: TestResponse = isHidden
          ? await service.fetch(path.replace('ownerId=1', 'ownerId=3'), token)
          : await other.fetch(path, otherToken)
        assert.deepEqual(withoutRequest(answer), withoutRequest(same), path)
        compared += 1
        path = /<([^>]*)>; rel="next"/.exec(answer.headers.get('Link') ?? '')?.[1]
      }
    }
    assert.ok(compared > 100, `${compared} answers`)
    if (scopes === defaultScopes && (everyPair || hasPages)) await comparePages(service, other)
  })
}

const values: Readonly<Record<string, readonly string[]>> = {
  limit: ['1'],
  offset: ['1'],
  cursor: [''],
  ownerId: ['1'],
  from: ['2026-01-10'],
  passed: ['true'],
  lockState: ['completed'],
  bucket: ['month'],
}

const everyPair = process.env['EVERY_PAIR'] !== undefined
const PAIRS = new Set(['limit=1&cursor=', 'ownerId=1&from=2026-01-10'])

/** Addresses of every endpoint but those of the token and of access itself, with up to two parameters. */
function* addresses(): Generator<{ address: string; area: Area | undefined; names: string }> {
  for (const { path, query } of Object.values<Endpoint>(api)) {
    // What depends on both areas has a test of its own.
    if (path.startsWith('/api/v1/me') || path.endsWith('/status')) continue
    const area = areas.find(area => path.startsWith(`/api/v1/${area}`))
    const pairs = Object.keys(query).flatMap(name => (values[name] ?? []).map(value => `${name}=${value}`))
    const both = pairs.flatMap((one, index) => pairs.slice(index + 1).map(two => `${one}&${two}`))
    const sent = ['', ...pairs, ...both].filter(names => everyPair || !names.includes('&') || PAIRS.has(names))
    for (const id of path.includes(':id') ? ['1', '10', '11', '12', '3'] : ['']) {
      for (const names of sent) {
        if (names.includes('offset') && names.includes('cursor')) continue
        yield { address: `${path.replace(':id', id)}?${names}`, area, names }
      }
    }
  }
}

const pages = [
  '/',
  '/training?range=all',
  '/training.csv?range=all',
  ...['10', '11', '12'].map(id => `/training/${id}`),
  '/programs',
  '/programs/1',
  '/locks?range=all',
  '/locks.csv?range=all',
  ...['11', '12'].map(id => `/locks/${id}`),
  '/lock-templates',
  '/lock-templates/1',
]

/** Ben sees the same pages, whosever records he chooses. */
async function comparePages(service: TestService, other: TestService) {
  const [one, two] = [visitor(service.url), visitor(other.url)]
  await Promise.all([allowSignIn(service, 'ben'), allowSignIn(other, 'ben')])
  await Promise.all([one.signIn('ben'), two.signIn('ben')])
  for (const subject of ['2', '1']) {
    for (const browser of [one, two]) await browser.post('/subject', { subject, back: '/' })
    for (const path of pages) {
      const [page, same] = await atOneTime(
        async () => shown(await one.get(path), service),
        async () => shown(await two.get(path), other),
      )
      assert.deepEqual(page, same, path)
    }
  }
}

/** Without what differs between two services: ports and request ids. */
function shown({ status, text }: { status: number; text: string }, { url }: TestService) {
  return { status, text: text.replaceAll(url, '').replaceAll(/<code>[A-Za-z0-9_-]{16}<\/code>/g, '') }
}

test('the status shows and counts only what is in areas that may be read', async () => {
  await using service = await startService([...people, ...all], unlimited)
  const status = async () => (await service.fetch('/api/v1/status?ownerId=1&relative=seconds', 'ben')).body.data
  await give({})(service)
  const whole = await status()
  assert.deepEqual([whole.lockState, whole.longestStreakDays], ['locked', 2])
  const lockFields = Object.keys(whole).filter(name => /^(lock|state|planned|time.idden|practice|remaining)/.test(name))
  const trainingFields = Object.keys(whole).filter(name => /(Session|Today|ThisWeek|Days|bestGrade)/.test(name))
  for (const [area, hidden] of [
    ['dtt', lockFields],
    ['lkbx', trainingFields],
  ] as const) {
    await give({ areas: [area] })(service)
    const nulls = Object.fromEntries(hidden.map(name => [name, null]))
    assert.deepEqual({ ...(await status()), asOfSeconds: 0 }, { ...whole, ...nulls, asOfSeconds: 0 })
  }
  await give({ recordsFrom: firstDay })(service)
  const late = await status()
  assert.deepEqual([late.lockState, late.locked, late.longestStreakDays], ['idle', false, 1])
  await endAccess(service.store, annToBen, Date.now())
  assertRefused(await service.fetch('/api/v1/status?ownerId=1', 'ben'), 403, 'owner_not_accessible')
})

test('access ends at its end, without a change to the store, and for grants that are cached', async () => {
  await using service = await startService([...people, ...all])
  const { store } = service
  const until = now + 60_000
  await give({ until })(service)
  const grant = await findGrant(store, await service.token('ben'))
  assert.ok(grant !== undefined)
  const read = (at: number) => handlers.getTrainingSession({ store, grant, now: at }, { id: 12, include: undefined })
  assert.ok((await read(until - 1)) !== undefined)
  assert.equal(await read(until), undefined)
})

test('while a partner reads in a loop, the last row leaves within a second of the end of access, in every process', async () => {
  await using service = await startService([...people, ...all], unlimited)
  await using second = await startService([], unlimited, service)
  await give({})(service)
  const token = await service.token('ben')
  let endedAt = Infinity
  const late: number[] = []
  const read = async (url: string) => {
    const until = Date.now() + 2000
    for (let sentAt = Date.now(); sentAt < until; sentAt = Date.now()) {
      const response = await fetch(`${url}/api/v1/lkbx/sessions`, { headers: { Authorization: `Bearer ${token}` } })
      if ((await response.text()).includes('"ownerId":1') && sentAt >= endedAt + 1000) late.push(sentAt - endedAt)
    }
  }
  const end = async () => {
    await sleep(300)
    await endAccess(second.store, annToBen, Date.now())
    endedAt = Date.now()
  }
  await Promise.all([read(service.url), read(second.url), end()])
  assert.deepEqual(late, [])
  // On a slow machine it may have ended last of all.
  await within(1000, async () => idsOf(await service.fetch('/api/v1/lkbx/sessions', token)).join() === '21')
})

test('without shared:access, public programs are read by id as by any stranger', async () => {
  await using service = await startService([...people, trainingTemplate(2, 1, { isPublic: true })])
  const token = await service.token('ben', { scopes: alone })
  assert.equal((await service.fetch('/api/v1/dtt/templates/2', token)).status, 200)
  assert.deepEqual(idsOf(await service.fetch('/api/v1/dtt/templates', token)), [])
})
