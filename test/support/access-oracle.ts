import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { narrowGiven } from '../../src/accounts/given-access.ts'
import { endAccess } from '../../src/accounts/shared-access.ts'
import type { Scope } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { seeded } from '../../src/demo/random.ts'
import {
  type Asked,
  type Expected,
  expectedAnswer,
  isReachable,
  isVisible,
  type Kind,
  listed,
  lists,
  type Position,
  type Reader,
  type Row,
  type Situation,
  type Terms,
  termsOf,
} from './access-model.ts'
import { giveAccess } from './sharing.ts'
import { allowSignIn, type Visitor, visitor } from './dashboard.ts'
import * as records from './records.ts'
import { inBrowser, startService, type TestService, unlimited } from './service.ts'
import { serve, type Serving } from './serving.ts'

/** Compares responses with the model of access, while access and records change. Two processes answer from one database. */

/** What it asks for: all of the API, and all pages; these lines are about paths that do not tell everything themselves. */
const apiPaths = Object.values(api).map(({ path }) => path.replace('/api/v1', ''))
/** The pages of one record. */
const recordPages: Readonly<Record<string, Kind>> = {
  '/training/:id': 'training-session',
  '/programs/:id': 'training-template',
  '/locks/:id': 'lock-session',
  '/lock-templates/:id': 'lock-template',
}
/** The files that have all rows of a kind: undefined for all of the account, null for figures alone. */
const files: Readonly<Record<string, Kind | undefined | null>> = {
  '/training.csv': 'training-session',
  '/locks.csv': 'lock-session',
  '/settings/export': undefined,
}
/** Pages whose number is not that of a record. */
const numbers: Readonly<Record<string, number>> = { '/year/:id': 2026 }
/** What changes with each read, or shows who read. */
const unsteady = ['/me', '/me/reads', '/me/access']

const pagePaths = pages.filter(({ method }) => method === undefined).map(({ path }) => path)
const pagesOfRecords = pages.filter(({ reads }) => reads !== null).map(({ path }) => path)

for (const { path, reads, area, isDownload } of pages) {
  const isNamed = reads === 'record' ? path in recordPages : isDownload !== true || area === undefined || path in files
  if (!isNamed) throw new Error(`say which records ${path} shows`)
}

const DAY = 86_400_000
/** How long what an API key may read can be known from before a change. */
const GRACE_MS = 1000
const ACCOUNTS = [1, 2, 3, 4, 5]
const KEYS: readonly (readonly Scope[])[] = [
  ['lkbx:read', 'dtt:read', 'shared:access'],
  ['lkbx:read', 'dtt:read'],
  ['lkbx:read', 'shared:access'],
  ['dtt:read', 'shared:access'],
  ['status:read', 'shared:access'],
]
const IN_BROWSER = ['lkbx:read', 'dtt:read', 'shared:access']

interface Key extends Reader {
  readonly text: string
}

type IsHidden = (row: Row) => boolean

interface ApiRequest extends Asked {
  readonly query: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly etag: string
  readonly text: string
}

/** Runs the checks that follow from a seed; returns how many they were. The same seed and day repeat them exactly. */
export async function checkAccess(seed: number, checks: number, today = Math.floor(Date.now() / DAY)): Promise<number> {
  const oracle = new Oracle(seed, today)
  try {
    await oracle.start()
    while (oracle.checks < checks) await oracle.step()
    return oracle.checks
  } catch (error) {
    const again = `ACCESS_SEED=${seed} ACCESS_DAY=${today} npm run test:slow accounts/access-oracle`
    throw new Error(`check ${oracle.checks} of ${again}`, { cause: error })
  } finally {
    await oracle.end()
  }
}

class Oracle {
  checks = 0
  #random
  readonly #today
  #rows = new Map<number, Row>()
  /** What was given at which times, the last one still. */
  readonly #given: { access: ReadonlyMap<string, Terms>; entitled: ReadonlySet<number>; until: number }[] = []
  readonly #keys: Key[] = []
  readonly #visitors = new Map<number, { visitor: Visitor; subject: number }[]>()
  /** Bodies by their path and validator, and the last validators of each path. */
  readonly #bodies = new Map<string, string>()
  readonly #etags = new Map<string, string[]>()
  /** The text of each kind of error by its path. */
  readonly #errors = new Map<string, string>()
  /** The lists that were read last. */
  /** So that one that the model does not know is asked for in every run. */
  readonly #notAsked = [...apiPaths]
  #lists: readonly ApiRequest[] = []
  #service!: TestService
  #other!: Serving
  #steps = 0

  readonly #seed

  constructor(seed: number, today: number) {
    this.#seed = seed
    this.#random = seeded(seed)
    this.#today = today * DAY
  }

  async start() {
    const lines: object[] = ACCOUNTS.map(id =>
      records.account(id, `person-${id}z`, id === 5 ? { subscriptionTier: null } : {}),
    )
    for (const owner of ACCOUNTS)
      for (const [kind, count] of HAS)
        for (let n = 0; n < count; n += 1)
          lines.push(
            ...this.#write(
              () => true,
              () => this.#newRow(kind, this.#nextId(), owner),
            ),
          )
    this.#service = await startService(lines, unlimited)
    this.#other = await serve(this.#service.databaseUrl)
    for (const account of ACCOUNTS) {
      if (account !== 5) {
        for (const scopes of KEYS) {
          const text = await this.#service.token(`person-${account}z`, { scopes })
          this.#keys.push({ account, scopes, text })
        }
      }
      await allowSignIn(this.#service, `person-${account}z`)
      const visitors = [this.#service.url, this.#other.url].map(url => ({ visitor: visitor(url), subject: account }))
      for (const { visitor } of visitors) await visitor.signIn(`person-${account}z`)
      this.#visitors.set(account, visitors)
    }
    this.#given.push({ access: new Map(), entitled: new Set([1, 2, 3, 4]), until: Infinity })
    for (let n = 0; n < 10; n += 1) await this.#give()
  }

  async end() {
    await this.#other?.[Symbol.asyncDispose]()
    await this.#service?.[Symbol.asyncDispose]()
  }

  async step() {
    this.#steps += 1
    // Each step has random numbers of its own: what depends on how fast the machine is changes only its step.
    this.#random = seeded(this.#seed * 1_000_003 + this.#steps)
    const does = this.#random.between(0, 100)
    if (does < 60) await this.#askApi(this.#pick(this.#keys), this.#request())
    else if (does < 75) await this.#walk(this.#pick(this.#keys))
    else if (does < 95) await this.#askPage()
    else if (does < 98) await this.#change()
    else if (does < 99.2) await this.#edit()
    else await this.#changeHidden()
  }

  /** The line of a row that is new or changed; undefined if none was found that is hidden. */
  #write(isHidden: IsHidden, propose: () => Row): object[] {
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const row = propose()
      if (!isHidden(row)) continue
      this.#rows.set(row.id, row)
      return [lineOf(row)]
    }
    return []
  }

  #newRow(kind: Kind, id: number, owner: number): Row {
    const templates = [...this.#rows.values()].filter(row => row.kind === kind.replace('session', 'template'))
    // Many at equal times, and at both sides of midnight.
    const time = this.#pick([0, 1, DAY / 2, DAY - 1000])
    return {
      kind,
      id,
      owner,
      // Before yesterday: within an hour of the newest record, locks that run are counted up to the present second.
      at: kind.endsWith('device') ? 0 : this.#today - DAY * this.#random.whole(2, 40) + time,
      isActive: this.#random.chance(0.3),
      isPublic: this.#random.chance(0.3),
      template: templates.length === 0 ? 0 : this.#pick(templates).id,
      reps: this.#random.whole(1, 1_000_000),
      version: 0,
    }
  }

  #pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error('there is nothing to choose from')
    return items[this.#random.whole(0, items.length - 1)] as Item
  }

  #isSometimes(one: number) {
    return this.#random.whole(1, one) === 1
  }

  // What changes

  async #change() {
    const does = this.#random.whole(1, 7)
    if (does <= 3) await this.#give()
    else if (does <= 5) await this.#narrow()
    else if (does === 6) await this.#end()
    else await this.#setTier()
    // Half of the time, what follows may not know the state before.
    if (this.#isSometimes(2)) await sleep(GRACE_MS + 1)
  }

  async #give() {
    const [ownerId, partnerId] = this.#pair()
    const until = this.#isSometimes(4) ? Date.now() + this.#random.whole(300, 3000) : null
    const from = this.#isSometimes(2) ? this.#today - DAY * this.#random.whole(0, 40) : null
    const areas = this.#pick([['lkbx', 'dtt'], ['lkbx'], ['dtt']] as const)
    await this.#set(ownerId, partnerId, { areas, recordsFrom: from, until }, terms =>
      giveAccess(this.#service.store, { ownerId, partnerId }, terms),
    )
  }

  async #narrow() {
    const now = Date.now()
    const given = [...this.#now().access].filter(([, { until }]) => until === null)
    if (given.length === 0) return
    const [pair, { areas, recordsFrom, until }] = this.#pick(given)
    const [ownerId = 0, partnerId = 0] = pair.split(' ').map(Number)
    const terms = {
      areas: areas.length > 1 && this.#isSometimes(2) ? [this.#pick(areas)] : areas,
      recordsFrom: Math.max(recordsFrom ?? 0, this.#today - DAY * this.#random.whole(0, 40)),
      until,
    }
    await this.#set(ownerId, partnerId, terms, () =>
      narrowGiven(
        this.#service.store,
        { accountId: ownerId, username: `person-${partnerId}z`, ...terms },
        now,
        inBrowser,
      ),
    )
  }

  async #end() {
    const now = Date.now()
    const given = [...this.#now().access].filter(([, { until }]) => until === null)
    if (given.length === 0) return
    const [ownerId = 0, partnerId = 0] = this.#pick(given)[0].split(' ').map(Number)
    await this.#set(ownerId, partnerId, undefined, () => endAccess(this.#service.store, { ownerId, partnerId }, now))
  }

  async #setTier() {
    const id = this.#pick(ACCOUNTS)
    const { access, entitled } = this.#now()
    const after = new Set(entitled)
    if (!after.delete(id)) after.add(id)
    const account = records.account(id, `person-${id}z`, { subscriptionTier: after.has(id) ? 'ultra' : null })
    await this.#service.import([account], { onConflict: 'replace', tiers: true })
    this.#changed(access, after)
  }

  async #set(owner: number, partner: number, terms: Terms | undefined, write: (terms: Terms) => Promise<unknown>) {
    await write(terms ?? { areas: [], recordsFrom: null, until: null })
    const access = new Map(this.#now().access)
    if (terms === undefined) access.delete(`${owner} ${partner}`)
    else access.set(`${owner} ${partner}`, terms)
    this.#changed(access, this.#now().entitled)
  }

  #now() {
    const last = this.#given.at(-1)
    if (last === undefined) throw new Error('nothing is known')
    return last
  }

  #changed(access: ReadonlyMap<string, Terms>, entitled: ReadonlySet<number>) {
    this.#now().until = Date.now()
    this.#given.push({ access, entitled, until: Infinity })
  }

  #pair(): [owner: number, partner: number] {
    const owner = this.#pick(ACCOUNTS)
    return [owner, this.#pick(ACCOUNTS.filter(id => id !== owner))]
  }

  /** Changes a record, and adds one. */
  async #edit(isHidden: IsHidden = () => true) {
    const rows = [...this.#rows.values()].filter(isHidden)
    const changed = this.#write(isHidden, () => {
      const { kind, id, owner, version } = this.#pick(rows)
      return { ...this.#newRow(kind, id, owner), version: version + 1 }
    })
    const added = this.#write(isHidden, () => this.#newRow(this.#pick(HAS)[0], this.#nextId(), this.#pick(ACCOUNTS)))
    await this.#service.import([...changed, ...added], { onConflict: 'replace' })
  }

  #nextId(): number {
    return 1000 + this.#rows.size
  }

  /** Changes what somebody may not read, after which everything must be as before, to the byte. */
  async #changeHidden() {
    const key = this.#pick(this.#keys.filter(({ scopes }) => scopes.includes('shared:access')))
    const { visitor } = this.#pick(this.#visitors.get(key.account) ?? [])
    const situation = this.#situation(this.#now(), 0)
    const reader = { account: key.account, scopes: IN_BROWSER }
    const isHidden = (row: Row) => row.owner !== key.account && !isReachable(situation, reader, row)
    const id = this.#someId()
    const subject = this.#pick(ACCOUNTS)
    await sleep(GRACE_MS + 1)
    const minute = await earlyInMinute()
    const start = Date.now()
    await visitor.post('/subject', { subject: String(subject), back: '/' })
    const figures = apiPaths.filter(path => /(stats|status|sessions|latest|active|current)$/.test(path))
    const { url } = this.#service
    const addresses: [address: string, ask: () => Promise<unknown>][] = [
      ...apiPaths
        .filter(path => !unsteady.includes(path))
        .map(path => path.replace(':id', String(id)))
        .concat(figures.map(path => `${path}?ownerId=${subject}`))
        .map((path): [string, () => Promise<unknown>] => [path, () => this.#fetch(url, path, key.text)]),
      ...pagesOfRecords
        .map(path => addressOf(path, id))
        .map((path): [string, () => Promise<unknown>] => [path, async () => steady(await visitor.get(path))]),
    ]
    const before: unknown[] = []
    for (const [, ask] of addresses) before.push(await ask())
    for (let n = 0; n < 4; n += 1) await this.#edit(isHidden)
    for (const [index, [address, ask]] of addresses.entries()) {
      const after = await ask()
      // Pages show how long ago something was; and access that ended meanwhile is another change.
      if (minuteOf(Date.now()) !== minute || this.#candidates(start).length > 2) break
      this.checks += 1
      const what = `${address} for ${key.account} about ${subject} changed with what is hidden from it`
      assert.deepEqual(after, before[index], what)
    }
    for (const entry of this.#visitors.get(key.account) ?? []) await this.#reset(entry, key.account)
  }

  // What is read

  /** The number of a row of a kind, of any other, or of none. */
  #someId(kind?: Kind): number {
    if (this.#isSometimes(10)) return this.#pick([1, 2, 999, 999_999])
    const rows = [...this.#rows.values()]
    return this.#pick(kind === undefined || this.#isSometimes(4) ? rows : rows.filter(row => row.kind === kind)).id
  }

  /** A request of any kind, or one that differs from an earlier one in its offset alone. */
  #request(): ApiRequest {
    const earlier = this.#lists.length === 0 || this.#isSometimes(2) ? undefined : this.#pick(this.#lists)
    if (earlier !== undefined) {
      const offset = this.#random.whole(0, 8)
      return { ...earlier, offset, query: { ...earlier.query, offset: String(offset) } }
    }
    const asked = this.#newRequest()
    if (asked.path in lists) this.#lists = [...this.#lists.slice(-2), asked]
    return asked
  }

  #newRequest(): ApiRequest {
    const path = this.#notAsked.pop() ?? this.#pick(apiPaths)
    const isList = path === '/users' || path in lists
    const named = /:id$|^\/users|^\/me/.test(path) || this.#isSometimes(2) ? undefined : this.#pick([...ACCOUNTS, 77])
    const limit = isList && this.#isSometimes(2) ? this.#random.whole(1, 20) : 50
    const offset = isList && this.#isSometimes(4) ? this.#random.whole(0, 30) : 0
    const from = this.#today - DAY * this.#random.whole(0, 45)
    const to = Math.min(from + DAY * this.#random.whole(1, 30), this.#today + DAY)
    const query = {
      ...(named === undefined ? {} : { ownerId: String(named) }),
      ...(limit === 50 ? {} : { limit: String(limit) }),
      ...(offset === 0 ? {} : { offset: String(offset) }),
      ...(path.endsWith('/stats') ? { bucket: 'day', tz: 'UTC', from: dayText(from), to: dayText(to - DAY) } : {}),
      ...(path === '/status' ? { tz: 'UTC' } : {}),
    }
    const id =
      path === '/users/:id' ? this.#pick([...ACCOUNTS, 77]) : this.#someId(lists[path.slice(0, -'/:id'.length)]?.kind)
    return { path, id, owner: named, limit, offset, after: undefined, days: [from, to], query }
  }

  /** Reads a list by cursor; what is shown changes meanwhile. */
  async #walk(key: Key) {
    const path = this.#pick([...Object.keys(lists), '/users'])
    const named = path === '/users' || this.#isSometimes(2) ? undefined : this.#pick(ACCOUNTS)
    const limit = this.#random.whole(1, 6)
    let reader = key
    let cursor: string | null = ''
    let after: Position | undefined
    for (let pages = 0; cursor !== null && pages < 12; pages += 1) {
      const query: Record<string, string> = {
        limit: String(limit),
        cursor,
        ...(named === undefined ? {} : { ownerId: String(named) }),
      }
      const asked = { path, id: 0, owner: named, limit, offset: 0, after, days: [0, 0] as const, query }
      const { data } = (await this.#askApi(reader, asked)) as {
        data?: { data: { id: number }[]; pagination: { nextCursor: string | null } }
      }
      if (data === undefined) return
      const last: number | undefined = data.data.at(-1)?.id
      after = last === undefined ? after : (this.#rows.get(last) ?? { id: last, at: 0 })
      cursor = data.pagination.nextCursor
      if (this.#isSometimes(12)) await this.#change()
      // A cursor is bound to no reader.
      if (this.#isSometimes(10)) reader = this.#pick(this.#keys)
    }
  }

  async #askApi(key: Key, asked: ApiRequest): Promise<unknown> {
    const { path, id, query } = asked
    const target = path.replace(':id', String(id))
    const search = new URLSearchParams(query).toString()
    const address = search === '' ? target : `${target}?${search}`
    const url = this.#pick([this.#service.url, this.#other.url])
    // Also those of other readers and of other pages.
    const validator = this.#isSometimes(2) ? this.#pick([...(this.#etags.get(path) ?? []), undefined]) : undefined
    const start = Date.now()
    const answer = await this.#fetch(url, address, key.text, validator)
    const text = answer.status === 304 ? this.#bodies.get(`${path} ${answer.etag}`) : answer.text
    if (text === undefined) throw new Error(`304 for a body that was never sent: ${address}`)
    const body = JSON.parse(text) as { ok: boolean; code?: string; data?: any }
    this.#compare(`GET ${address} by ${key.account} (${key.scopes.join(' ')}) ${answer.status}`, start, situation => {
      assertExpected(body, expectedAnswer(situation, key, asked))
      this.#assertNoneForeign(text, situation, key)
    })
    if (answer.status === 200) this.#keep(path, address, answer)
    if (!body.ok) this.#assertSameError(`${path} ${body.code}`, text.replace(/"requestId":"[^"]*"/, ''))
    return body
  }

  /** A validator belongs to one body. */
  #keep(path: string, address: string, { etag, text }: Answer) {
    if (path === '/me') return
    const known = this.#bodies.get(`${path} ${etag}`)
    if (known !== undefined) assert.equal(text, known, `two bodies with one validator: ${address}`)
    this.#bodies.set(`${path} ${etag}`, text)
    this.#etags.set(path, [...(this.#etags.get(path) ?? []).slice(-6), etag])
  }

  /** What does not exist and what is not shown have the same error. */
  #assertSameError(name: string, text: string) {
    assert.equal(text, this.#errors.getOrInsert(name, text), name)
  }

  async #askPage() {
    const account = this.#pick(ACCOUNTS)
    const entry = this.#pick(this.#visitors.get(account) ?? [])
    const reader = { account, scopes: IN_BROWSER }
    if (this.#isSometimes(3)) {
      const subject = this.#pick(ACCOUNTS)
      const start = Date.now()
      await entry.visitor.post('/subject', { subject: String(subject), back: '/' })
      // What may not be read cannot be chosen.
      if (this.#candidates(start).every(one => termsOf(one, reader, subject) !== undefined)) entry.subject = subject
      else return this.#reset(entry, account)
    }
    const path = this.#pick(this.#isSometimes(3) ? pagePaths : pagesOfRecords)
    const id = this.#someId(recordPages[path])
    const start = Date.now()
    const { status, text } = await entry.visitor.get(addressOf(path, id))
    const isOfRecords = pagesOfRecords.includes(path)
    this.#compare(`${path} ${id} by ${account} about ${entry.subject}: ${status}`, start, situation => {
      this.#assertNoneForeign(text, situation, reader)
      // The page says that the access has ended.
      if (isOfRecords && termsOf(situation, reader, entry.subject) === undefined) {
        assert.deepEqual(markersIn(text), [])
        return
      }
      const row = this.#rows.get(id)
      const kind = recordPages[path]
      if (kind !== undefined) {
        const isThere = row?.kind === kind && isVisible(situation, reader, row)
        assert.equal(status, isThere ? 200 : 404, JSON.stringify(row))
        if (isThere) assert.ok(text.includes(markerOf(row)), 'the record is not on its page')
      }
      const of = files[path]
      if (path in files && of !== null) {
        const shown = of === undefined ? this.#ownRows(account) : listed(situation, reader, of, entry.subject)
        const found = (path.endsWith('.csv') ? numbersIn(text) : markersIn(text).map(([id]) => id))
          .map(id => this.#rows.get(id))
          .filter(row => of === undefined || row?.kind === of)
        assert.deepEqual(idsOf(found), idsOf(shown))
      }
    })
  }

  async #reset(entry: { visitor: Visitor; subject: number }, account: number) {
    await entry.visitor.post('/subject', { subject: String(account), back: '/' })
    entry.subject = account
  }

  #ownRows(account: number): Row[] {
    return [...this.#rows.values()].filter(({ owner }) => owner === account)
  }

  #assertNoneForeign(text: string, situation: Situation, reader: Reader) {
    for (const [id, version] of markersIn(text)) {
      const row = this.#rows.get(id)
      assert.ok(row !== undefined && isReachable(situation, reader, row), `${id} is shown`)
      assert.equal(version, row.version, `an earlier ${id} is shown`)
    }
  }

  /** What may have been known in a time: all that was given within it or up to a second before. */
  #candidates(start: number): Situation[] {
    const since = start - GRACE_MS
    const end = Date.now()
    return this.#given
      .filter(({ until }) => until >= since)
      .flatMap(given => {
        const ends = [...given.access.values()]
          .map(({ until }) => until ?? 0)
          .filter(until => until > since && until <= end)
        return [end, since, ...ends].map(now => this.#situation(given, now))
      })
      .toReversed()
  }

  #situation(
    { access, entitled }: { access: ReadonlyMap<string, Terms>; entitled: ReadonlySet<number> },
    now: number,
  ): Situation {
    return { rows: this.#rows, accounts: ACCOUNTS, access, entitled, now }
  }

  #compare(what: string, start: number, check: (situation: Situation) => void) {
    this.checks += 1
    let failure: unknown
    for (const situation of this.#candidates(start)) {
      try {
        check(situation)
        return
      } catch (error) {
        failure ??= error
      }
    }
    throw new Error(what, { cause: failure })
  }

  async #fetch(url: string, address: string, token: string, validator?: string): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(validator === undefined ? {} : { 'If-None-Match': validator }),
    }
    const response = await fetch(`${url}/api/v1${address}`, { headers })
    return {
      status: response.status,
      etag: response.headers.get('ETag') ?? '',
      text: (await response.text()).replace(/"(lastUsedAt|requestId)":"[^"]*"/g, '"$1":""'),
    }
  }
}

/** How many rows of each kind an account has at first. */
const HAS: readonly (readonly [Kind, number])[] = [
  ['lock-template', 4],
  ['lock-session', 8],
  ['lock-device', 2],
  ['training-template', 4],
  ['training-session', 12],
  ['training-device', 2],
]

const markerOf = ({ id, version }: Row) => `q${id}v${version}z`
const markersIn = (text: string) =>
  [...text.matchAll(/q(\d+)v(\d+)z/g)].map(([, id, version]) => [Number(id), Number(version)] as const)
const idsOf = (rows: readonly (Row | undefined)[]) =>
  [...new Set(rows.map(row => row?.id ?? 0))].toSorted((a, b) => a - b)
const dayText = (at: number) => new Date(at).toISOString().slice(0, 10)

/** The column of a table that has the numbers of records. */
function numbersIn(csv: string): number[] {
  const [header = [], ...rows] = csv.split('\r\n').map(line => line.split(','))
  const column = header.findIndex(title => title.endsWith('Number'))
  return rows.filter(cells => cells.length > 1).map(cells => Number(cells[column]))
}

function addressOf(path: string, id: number): string {
  return path.replace(':id', String(numbers[path] ?? id))
}

function assertExpected(body: { readonly code?: string; readonly data?: any }, expected: Expected) {
  if ('code' in expected) return assert.equal(body.code, expected.code)
  assert.equal(body.code, undefined)
  const { data } = body
  if ('id' in expected) return assert.equal(data?.id ?? null, expected.id)
  if ('ids' in expected) {
    const ids = data.data.map(({ id }: { id: number }) => id)
    assert.deepEqual(ids, expected.ids)
    if ('nextCursor' in data.pagination) assert.equal(data.pagination.nextCursor !== null, expected.hasMore)
    return undefined
  }
  const values = { ...data, ...data.total, ...data.streak }
  for (const [name, value] of Object.entries(expected.values)) assert.equal(values[name], value, name)
  return undefined
}

/** A page without the instant of its request. */
function steady({ status, text }: { readonly status: number; readonly text: string }): string {
  return `${status} ${text.replaceAll(new RegExp(`${dayText(Date.now())}T[\\d:.]+`, 'g'), 'now')}`
}

const minuteOf = (now: number) => Math.floor(now / 60_000)

/** Waits until half a minute is left of the present minute. */
async function earlyInMinute(): Promise<number> {
  const passed = Date.now() % 60_000
  if (passed > 30_000) await sleep(60_001 - passed)
  return minuteOf(Date.now())
}

function lineOf(row: Row): object {
  const { kind, id, owner, isActive, isPublic, template, reps } = row
  const name = markerOf(row)
  const at = new Date(row.at).toISOString()
  switch (kind) {
    case 'lock-template':
      return records.lockTemplate(id, owner, { name, isPublic, createdAt: at })
    case 'lock-session':
      return records.lockSession(
        id,
        owner,
        {
          name,
          isActive,
          lockState: isActive ? 'locked' : 'completed',
          startDate: at,
          LockSegment: [records.lockSegment(id, 'start', at, true)],
        },
        { templateId: template || null },
      )
    case 'lock-device':
      return records.lockDevice(id, owner, { bubbleId: name })
    case 'training-template':
      return records.trainingTemplate(id, owner, { name, isActive, isPublic, createdDate: at })
    case 'training-session':
      return records.trainingSession(id, owner, {
        name,
        created_at: at,
        settings_id: template || 1,
        trainer_id: template || 1,
        TrainerSegment: [records.trainerSegment(id, { repsMeasured: reps })],
      })
    default:
      return records.trainingDevice(id, owner, { bubbleId: name })
  }
}
