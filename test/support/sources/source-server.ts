import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** A foreign server of the API: the test decides what it has, leaves out and does wrong. */

type Data = Readonly<Record<string, any>>

interface SourceRecord {
  readonly data: Data
  readonly ownerId: number
  readonly templateId?: number | null
}

/** The records of a source: by kind, then id. Training sessions have their owner in the envelope. */
export class SourceWorld {
  readonly users: Data[] = []
  readonly #records = new Map<string, Map<number, SourceRecord>>()
  /** Grows with each change. */
  version = 0

  /** Takes lines of an archive; a record that is there already is replaced. */
  add(...lines: readonly object[]): this {
    this.version += 1
    for (const line of lines as readonly { kind: string; data: Data; ownerId?: number; templateId?: number }[]) {
      if (line.kind === 'account') this.users.push(line.data)
      else if (line.kind !== 'partnership') {
        const ownerId = line.ownerId ?? line.data['ownerId']
        const envelope = line.templateId === undefined ? {} : { templateId: line.templateId }
        this.#recordsOf(line.kind).set(line.data['id'], { data: line.data, ownerId, ...envelope })
      }
    }
    return this
  }

  remove(kind: string, id: number): void {
    this.version += 1
    this.#recordsOf(kind).delete(id)
  }

  of(kind: string): ReadonlyMap<number, SourceRecord> {
    return this.#recordsOf(kind)
  }

  #recordsOf(kind: string) {
    const known = this.#records.get(kind) ?? new Map<number, SourceRecord>()
    this.#records.set(kind, known)
    return known
  }
}

/** What a request gets instead of its response. */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** The connection ends before or within the response. */
  | 'cut'
  | 'cut body'

export interface SourceServerOptions {
  readonly world: SourceWorld
  /** Whose the token is. */
  readonly me?: number
  /** Whose records the token may read, in addition to those of `me`. */
  readonly others?: readonly number[]
  readonly token?: string
  /** The path that returns the account of the token. */
  readonly identity?: '/users/me' | '/me' | '/users' | undefined
  /** What it does with parameters that it does not know. */
  readonly unknownParameters?: 'ignored' | 'refused'
  /** Paths of lists it does not have, below /api/v1, and whether it has records of them by id. */
  readonly withoutLists?: readonly string[]
  readonly withoutRecords?: readonly string[]
  /** Whether instants are written with microseconds. */
  readonly microseconds?: boolean
  /** Fields that rows of a list lack, by path. */
  readonly listsWithout?: Readonly<Record<string, readonly string[]>>
  /** Rows of the longest page; 100 if not given. */
  readonly maxLimit?: number
  /** Requests of a minute; beyond, 429. */
  readonly requestsPerMinute?: number
  /** Whether a 429 says when to try again; it does if not given. */
  readonly retryAfter?: boolean
  /** Whether lists are in no order of time. */
  readonly isMixed?: boolean
  /** A key and a certificate, for TLS. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** The time, for the limit of requests. */
  readonly now?: () => number
}

export interface SourceServer extends AsyncDisposable {
  readonly url: string
  /** Paths and queries of the requests so far. */
  readonly requests: string[]
  /** What the next request gets instead of its response. */
  fault: ((path: string, index: number) => Fault | undefined) | undefined
  /** Called before each response is made, with the port that the request came from. */
  before: ((path: string, index: number, port: number) => void) | undefined
}

export const SOURCE_TOKEN = 'source-token-0123456789'

const LISTS: Readonly<Record<string, { readonly kind: string; readonly order?: string }>> = {
  '/lkbx': { kind: 'lock-device' },
  '/dtt': { kind: 'training-device' },
  '/lkbx/templates': { kind: 'lock-template', order: 'createdAt' },
  '/dtt/templates': { kind: 'training-template', order: 'createdDate' },
  '/lkbx/sessions': { kind: 'lock-session', order: 'startDate' },
  '/dtt/sessions': { kind: 'training-session', order: 'created_at' },
}

export async function startSource(options: SourceServerOptions): Promise<SourceServer> {
  const { tls } = options
  const { respond, state } = makeResponder(options)
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    send(respond(request.url ?? '', request.headers.authorization, request.socket.remotePort), request, response)
  const server: Server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  })
}

function send(reply: Reply, request: IncomingMessage, response: ServerResponse) {
  if (reply === 'cut') request.socket.destroy()
  else if (reply === 'cut body') {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' })
    response.write('{"ok":true,"data":', () => request.socket.destroy())
  } else {
    response.writeHead(reply.status, { 'Content-Type': 'application/json', ...reply.headers })
    response.end(reply.body)
  }
}

/** A source with only the basic paths: training sessions as a list by offset, and records by id. */
export function bareOptions(world: SourceWorld): SourceServerOptions {
  return {
    world,
    unknownParameters: 'refused',
    withoutLists: ['/lkbx', '/dtt', '/dtt/templates', '/lkbx/sessions'],
    withoutRecords: ['/lkbx', '/dtt', '/lkbx/templates'],
  }
}

/** A source that behaves like a hosted service. */
export function habitsOptions(world: SourceWorld): SourceServerOptions {
  return {
    world,
    identity: '/me',
    unknownParameters: 'ignored',
    microseconds: true,
    listsWithout: {
      '/dtt/templates': ['Segment'],
      '/lkbx/sessions': ['LockSegment', 'startDate'],
      '/dtt/sessions': ['TrainerSegment'],
    },
    requestsPerMinute: 60,
  }
}

/** A response, or what the connection ends with. */
export type Reply =
  | 'cut'
  | 'cut body'
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }

/** The responses of a source. */
export function makeResponder(options: SourceServerOptions) {
  const { world, me = 1, others = [], token = SOURCE_TOKEN, now = Date.now } = options
  const state: Pick<SourceServer, 'requests' | 'fault' | 'before'> = {
    requests: [],
    fault: undefined,
    before: undefined,
  }
  const visible = new Set([me, ...others])
  let window = { start: -Infinity, count: 0 }

  const respond = (target: string, authorization: string | undefined, port = 0): Reply => {
    const { pathname, searchParams, search } = new URL(target, 'http://source')
    const path = pathname.replace(/^\/api\/v1/, '')
    const index = state.requests.push(path + search) - 1
    state.before?.(path, index, port)
    const fault = state.fault?.(path, index)
    if (typeof fault === 'string') return fault
    if (fault !== undefined) return { headers: {}, body: '{"ok":false}', ...fault }
    const reply = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => ({
      status,
      headers,
      body: JSON.stringify(body),
    })
    if (options.requestsPerMinute !== undefined) {
      if (now() - window.start >= 60_000) window = { start: now(), count: 0 }
      window.count += 1
      if (window.count > options.requestsPerMinute) {
        const seconds = String(Math.ceil((window.start + 60_000 - now()) / 1000))
        return reply(429, { ok: false }, options.retryAfter === false ? {} : { 'Retry-After': seconds })
      }
    }
    if (authorization !== `Bearer ${token}`) return reply(401, { ok: false, code: 'invalid_token' })
    const data = answer(path, searchParams)
    return typeof data === 'number' ? reply(data, { ok: false, error: 'refused' }) : reply(200, { ok: true, data })
  }

  /** The data of an answer, or the status of a refusal. */
  const answer = (path: string, query: URLSearchParams): unknown => {
    if (path === options.identity && path !== '/users') {
      const user = world.users.find(({ id }) => id === me)
      return path === '/me' ? { account: user, token: {} } : user
    }
    if (path === '/users' && options.identity !== undefined) {
      const users = world.users.filter(({ id }) => visible.has(id))
      return page(
        users.map(user => () => user),
        query,
      )
    }
    const hasLocks = options.withoutLists?.includes('/lkbx/sessions') !== true
    if (hasLocks && (path === '/lkbx/session/current' || path === '/lkbx/templates/active')) return current(path)
    const list = LISTS[path]
    if (list !== undefined && options.withoutLists?.includes(path) !== true) {
      const known = ['limit', 'offset']
      if (options.unknownParameters === 'refused' && ![...query.keys()].every(name => known.includes(name))) return 400
      return page(rowsOf(path, list), query)
    }
    const [, parent = '', id = ''] = /^(.*)\/(\d+)$/.exec(path) ?? []
    const parentList = LISTS[parent]
    if (parentList === undefined || options.withoutRecords?.includes(parent) === true) return 404
    const found = world.of(parentList.kind).get(Number(id))
    return found !== undefined && visible.has(found.ownerId) ? written(found.data) : 404
  }

  const current = (path: string) => {
    const session = [...world.of('lock-session').values()].find(
      ({ data, ownerId }) => data['isActive'] && ownerId === me,
    )
    if (session === undefined) return null
    if (path === '/lkbx/session/current') return written(session.data)
    return written(world.of('lock-template').get(session.templateId ?? 0)?.data ?? {})
  }

  const rowsOf = (path: string, { kind, order }: { kind: string; order?: string }) => {
    const without = options.listsWithout?.[path] ?? (path === '/dtt/templates' ? ['Segment'] : [])
    const shown = (data: Data) =>
      written(Object.fromEntries(Object.entries(data).filter(([name]) => !without.includes(name))))
    return sorted(kind, order).map(data => () => shown(data))
  }

  let known: { kind: string; version: number; rows: Data[] } | undefined
  /** The rows of a kind as lists show them, sorted again when they have changed. */
  const sorted = (kind: string, order: string | undefined) => {
    if (known?.kind === kind && known.version === world.version) return known.rows
    // Every number up to a thousand has another remainder.
    const mixed = (data: Data) => (Number(data['id']) * 577) % 1009
    const instant = (data: Data) =>
      options.isMixed === true ? mixed(data) : order === undefined ? 0 : Date.parse(data[order] ?? '') || 0
    const rows = [...world.of(kind).values()]
      .filter(({ ownerId }) => visible.has(ownerId))
      .map(({ data }) => ({ data, at: instant(data), id: Number(data['id']) }))
      .toSorted((a, b) => (order === undefined ? a.id - b.id : b.at - a.at || b.id - a.id))
      .map(({ data }) => data)
    known = { kind, version: world.version, rows }
    return rows
  }

  const written = (data: Data): Data =>
    options.microseconds === true
      ? JSON.parse(JSON.stringify(data).replaceAll(/"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z"/g, '"$1.000123Z"'))
      : data

  const page = (rows: readonly (() => unknown)[], query: URLSearchParams) => {
    const limit = Math.min(Number(query.get('limit') ?? 50), options.maxLimit ?? 100)
    const offset = Number(query.get('offset') ?? 0)
    return { data: rows.slice(offset, offset + limit).map(show => show()), pagination: { limit, offset } }
  }

  return { respond, state }
}
