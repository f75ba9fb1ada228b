/**
 * Who may read what, as the reference and the guides promise it. It shares no code with the program, and knows nothing of how
 * that decides: it goes through all rows for each request.
 */

type Area = 'lkbx' | 'dtt'
export type Kind = `${'lock' | 'training'}-${'template' | 'session' | 'device'}`

export interface Row {
  readonly kind: Kind
  readonly id: number
  readonly owner: number
  /** By which lists are ordered; 0 for devices. */
  readonly at: number
  readonly isActive: boolean
  readonly isPublic: boolean
  readonly template: number
  readonly reps: number
  readonly version: number
}

export type Position = Pick<Row, 'id' | 'at'>
export interface Terms {
  readonly areas: readonly Area[]
  readonly recordsFrom: number | null
  readonly until: number | null
}

/** Everything that decides about a response except who asks. */
export interface Situation {
  readonly rows: ReadonlyMap<number, Row>
  readonly accounts: readonly number[]
  /** By the account that gives and the one that gets it. What has ended is not there. */
  readonly access: ReadonlyMap<string, Terms>
  readonly entitled: ReadonlySet<number>
  readonly now: number
}

/** Who asks: by API key, or in a browser. */
export interface Reader {
  readonly account: number
  readonly scopes: readonly string[]
}

export interface Asked {
  readonly path: string
  readonly id: number
  readonly owner: number | undefined
  readonly limit: number
  readonly offset: number
  /** The last row of the page before, for a page by cursor. */
  readonly after: Position | undefined
  /** The days of statistics: their start, and their end (excluded). */
  readonly days: readonly [from: number, to: number]
}

/** What a response must have; `values` are some of the fields of its object. */
export type Expected =
  | { readonly code: string }
  | { readonly ids: readonly number[]; readonly hasMore: boolean }
  | { readonly id: number | null }
  | { readonly values: Readonly<Record<string, unknown>> }

const DAY = 86_400_000
const BOTH: readonly Area[] = ['lkbx', 'dtt']
const areaOf = (kind: Kind): Area => (kind.startsWith('lock') ? 'lkbx' : 'dtt')

/** What a reader may read of an owner now; undefined for nothing. */
export function termsOf({ access, now }: Situation, { account, scopes }: Reader, owner: number): Terms | undefined {
  if (owner === account) return { areas: BOTH, recordsFrom: null, until: null }
  const given = scopes.includes('shared:access') ? access.get(`${owner} ${account}`) : undefined
  return given === undefined || (given.until ?? Infinity) <= now ? undefined : given
}

export function isVisible(situation: Situation, reader: Reader, row: Row): boolean {
  const terms = termsOf(situation, reader, row.owner)
  if (terms === undefined || !terms.areas.includes(areaOf(row.kind))) return false
  return !row.kind.endsWith('session') || row.at >= (terms.recordsFrom ?? -Infinity)
}

/** Also those that anybody may read who knows their number. */
export function isReachable(situation: Situation, reader: Reader, row: Row): boolean {
  return (row.kind === 'training-template' && row.isPublic) || isVisible(situation, reader, row)
}

/** The rows of a list: the newest first, devices by their number. */
export function listed(situation: Situation, reader: Reader, kind: Kind, owner?: number): Row[] {
  return [...situation.rows.values()]
    .filter(row => row.kind === kind && (owner === undefined || row.owner === owner))
    .filter(row => isVisible(situation, reader, row))
    .toSorted(kind.endsWith('device') ? byId : newestFirst)
}

const newestFirst = (a: Position, b: Position) => b.at - a.at || b.id - a.id
const byId = (a: Position, b: Position) => a.id - b.id

/** The accounts that a reader sees: the own one, and those with access in either direction. */
function linked(situation: Situation, reader: Reader): number[] {
  const isLinked = (other: number) =>
    termsOf(situation, reader, other) !== undefined ||
    (reader.scopes.includes('shared:access') &&
      termsOf(situation, { ...reader, account: other, scopes: ['shared:access'] }, reader.account) !== undefined)
  return situation.accounts.filter(isLinked)
}

/** The lists, and whether they mix in the records of others. Below each path is one record of its kind. */
export const lists: Readonly<Record<string, { readonly kind: Kind; readonly mixes: boolean }>> = {
  '/lkbx/templates': { kind: 'lock-template', mixes: true },
  '/lkbx/sessions': { kind: 'lock-session', mixes: true },
  '/lkbx': { kind: 'lock-device', mixes: false },
  '/dtt/templates': { kind: 'training-template', mixes: true },
  '/dtt/sessions': { kind: 'training-session', mixes: true },
  '/dtt': { kind: 'training-device', mixes: false },
}

export function expectedAnswer(situation: Situation, reader: Reader, asked: Asked): Expected {
  const { path, id, owner } = asked
  if (path !== '/me' && !situation.entitled.has(reader.account)) return { code: 'subscription_required' }
  if (!isInScope(path, reader.scopes)) return { code: 'insufficient_scope' }
  const areas = BOTH.filter(area => path === '/status' || path === `/${area}` || path.startsWith(`/${area}/`))
  const terms = termsOf(situation, reader, owner ?? reader.account)
  if (!areas.some(area => terms?.areas.includes(area)) && areas.length > 0) return { code: 'owner_not_accessible' }
  const list = lists[path]
  if (list !== undefined) {
    const rows = listed(situation, reader, list.kind, owner ?? (list.mixes ? undefined : reader.account))
    return page(rows, asked, list.kind.endsWith('device') ? byId : newestFirst)
  }
  const record = path.endsWith('/:id') ? lists[path.slice(0, -'/:id'.length)] : undefined
  if (record !== undefined) {
    const row = situation.rows.get(id)
    return row?.kind === record.kind && isReachable(situation, reader, row) ? { id } : { code: 'not_found' }
  }
  return one(situation, reader, asked) ?? people(situation, reader, asked)
}

function isInScope(path: string, scopes: readonly string[]): boolean {
  const has = (area: Area) => scopes.includes(`${area}:read`)
  if (['/me', '/users/me'].includes(path)) return true
  if (scopes.includes('status:read') && /^\/status$|\/stats$/.test(path)) return true
  if (path === '/status') return BOTH.every(has)
  return BOTH.some(
    area => has(area) && (path.startsWith('/users') || path.startsWith('/me/') || path.startsWith(`/${area}`)),
  )
}

function page(rows: readonly Position[], { limit, offset, after }: Asked, order: typeof byId): Expected {
  const left = after === undefined ? rows.slice(offset) : rows.filter(row => order(after, row) < 0)
  return { ids: left.slice(0, limit).map(({ id }) => id), hasMore: left.length > limit }
}

/** Of one account: its newest or active record, and figures over what the reader sees of it. */
function one(situation: Situation, reader: Reader, asked: Asked): Expected | undefined {
  const { path, owner = reader.account, days } = asked
  const sessions = listed(situation, reader, 'training-session', owner)
  const locks = listed(situation, reader, 'lock-session', owner)
  const programs = listed(situation, reader, 'training-template', owner)
  const active = locks.find(({ isActive }) => isActive)
  const template = situation.rows.get(active?.template ?? 0)
  const found = (row: Row | undefined): Expected => ({ id: row?.id ?? null })
  const within = (rows: readonly Row[]) => rows.filter(({ at }) => at >= days[0] && at < days[1])
  const reps = within(sessions).reduce((total, row) => total + row.reps, 0)
  const figures = { sessions: within(sessions).length, repsMeasured: reps, longestDays: longest(sessions) }
  const isShown = template?.kind === 'lock-template' && isVisible(situation, reader, template)
  const answers: Readonly<Record<string, Expected>> = {
    '/lkbx/sessions/latest': found(locks[0]),
    '/dtt/sessions/latest': found(sessions[0]),
    '/lkbx/session/current': found(active),
    '/lkbx/templates/active': found(isShown ? template : undefined),
    '/dtt/templates/active': found(programs.find(({ isActive }) => isActive)),
    '/lkbx/stats': { values: { started: within(locks).length } },
    '/dtt/stats': { values: figures },
    '/status': { values: status(termsOf(situation, reader, owner)?.areas ?? [], sessions, locks) },
  }
  return answers[path]
}

/** The most days in a row. */
function longest(sessions: readonly Row[]): number {
  const days = new Set(sessions.map(({ at }) => Math.floor(at / DAY)))
  const run = (day: number): number => (days.has(day) ? 1 + run(day + 1) : 0)
  return Math.max(0, ...[...days].map(run))
}

function status(areas: readonly Area[], sessions: readonly Row[], locks: readonly Row[]) {
  const lockState = locks.some(({ isActive }) => isActive) ? 'locked' : 'idle'
  return {
    lockState: areas.includes('lkbx') ? lockState : null,
    lastSessionReps: sessions[0]?.reps ?? null,
    longestStreakDays: areas.includes('dtt') ? longest(sessions) : null,
  }
}

function people(situation: Situation, reader: Reader, asked: Asked): Expected {
  const shown = linked(situation, reader).map(id => ({ id, at: 0 }))
  if (asked.path === '/users') return page(shown, asked, byId)
  if (asked.path === '/users/me') return { id: reader.account }
  if (asked.path.startsWith('/me')) return { values: {} }
  if (asked.path !== '/users/:id') throw new Error(`say what ${asked.path} shows`)
  return shown.some(({ id }) => id === asked.id) ? { id: asked.id } : { code: 'not_found' }
}
