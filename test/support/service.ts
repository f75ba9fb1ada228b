import { Value } from 'typebox/value'
import { importArchive, type ImportOptions, type ImportReport } from '../../src/archive/import.ts'
import { type Client, makeClient } from '../../src/client.ts'
import { readConfig } from '../../src/config.ts'
import { defaultScopes, type Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { makeLog } from '../../src/http/log.ts'
import { startService as startWhole } from '../../src/cli/service.ts'
import type { Service } from '../../src/http/server.ts'
import { open, type Store } from '../../src/store/index.ts'
import type { Actor } from '../../src/accounts/events.ts'
import { createKey, type KeyRequest } from '../../src/accounts/api-keys.ts'
import { newDatabase } from './databases.ts'

/** A real service on a real store, for a test. */
export interface TestService extends AsyncDisposable {
  readonly store: Store
  /** The database, for other programs that use it. */
  readonly databaseUrl: string
  readonly service: Service
  readonly url: string
  /** A client with a token of this account (by username); every 200 it gets is checked against the contract. */
  as(username: string): Promise<Client>
  /** A new token of this account. */
  token(username: string, request?: Partial<KeyRequest>): Promise<string>
  /** A response of any kind, for a token or for this account (by username); every 200 of the API is checked against the contract. */
  fetch(path: string, as?: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>
  /** Imports lines, given as objects. */
  import(lines: readonly object[], options?: ImportOptions): Promise<ImportReport>
  /** What the service wrote to its log, as far as it was flushed. */
  readonly log: readonly string[]
}

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; undefined when there is none. */
  readonly body: any
}

/** Somebody who does something in a browser. */
export const inBrowser: Actor = { by: 'self', network: '192.0.2.0/24', browser: 'Firefox on Linux' }

/** Settings for tests that send more requests, or fail more often, than the limits allow, or that keep the process busy. */
export const unlimited = {
  LOCKSTEP_RATE_LIMIT: '0',
  LOCKSTEP_FAILURE_LIMIT: '0',
  LOCKSTEP_OVERLOAD_LAG: '0',
  LOCKSTEP_ADDRESS_CONNECTIONS: '0',
}

/** Settings for tests, where a busy machine may stop any process for seconds: the event loop lags, and clients are slow. */
export const onBusyMachine = {
  LOCKSTEP_PORT: '0',
  LOCKSTEP_OVERLOAD_LAG: '0',
  LOCKSTEP_PAGE_LIMIT: '0',
  LOCKSTEP_ADDRESS_CONNECTIONS: '0',
  LOCKSTEP_ADDRESS_PAGE_LIMIT: '0',
  LOCKSTEP_KEEP_ALIVE: '60',
  LOCKSTEP_HEADERS_TIMEOUT: '60',
  LOCKSTEP_REQUEST_TIMEOUT: '120',
}

/** How long a write waits for another one: long, because a busy machine may stop whoever has the lock. */
export const BUSY_TIMEOUT_MS = 5000

/** Starts a service on a store of its own, or on the store of another service, as a second process would. */
export async function startService(
  lines: readonly object[] = [],
  settings: Record<string, string> = {},
  other?: Pick<TestService, 'databaseUrl'>,
) {
  const database = other === undefined ? await newDatabase() : undefined
  const databaseUrl = other?.databaseUrl ?? database?.url ?? ''
  const store = await open(databaseUrl, { busyTimeoutMs: BUSY_TIMEOUT_MS, connectTimeoutMs: 30_000 })
  const log: string[] = []
  const config = readConfig({ ...onBusyMachine, LOCKSTEP_DATABASE_URL: databaseUrl, ...settings })
  const service = await startWhole({ store, config, log: makeLog(text => log.push(text), config) })
  const tokens = new Map<string, Promise<string>>()
  const tokenOf = (username: string) => tokens.getOrInsertComputed(username, () => self.token(username))

  const checkedFetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init)
    if (response.status === 200) checkShape(String(input), await response.clone().json())
    return response
  }

  const self: TestService = {
    store,
    databaseUrl,
    service,
    url: service.url,
    log,
    async as(username) {
      return makeClient({ baseUrl: service.url, token: await tokenOf(username), fetch: checkedFetch, retries: 0 })
    },
    async token(username, request = {}) {
      const account = await store.db
        .selectFrom('account')
        .select('id')
        .where('username', '=', username)
        .executeTakeFirst()
      if (account === undefined) throw new Error(`the test has no account named ${username}`)
      const all = {
        accountId: account.id,
        name: 'test',
        scopes: defaultScopes,
        expiresAt: null,
        ...request,
      }
      return createKey(store, all, Date.now())
    },
    async fetch(path, as, headers = {}) {
      const token = as === undefined || as.startsWith('lks_') ? as : await tokenOf(as)
      const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` }
      const response = await globalThis.fetch(service.url + path, { headers: { ...authorization, ...headers } })
      const text = await response.text()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      if (response.status === 200 && path.startsWith('/api/')) checkShape(service.url + path, body)
      return { status: response.status, headers: response.headers, text, body }
    },
    import: (records, options) => importArchive(store, archiveOf(records), options),
    async [Symbol.asyncDispose]() {
      await service.close()
      await store.close()
      await database?.remove()
    },
  }
  try {
    if (lines.length > 0) await self.import(lines)
  } catch (error) {
    // Left open, it would keep the process of the test alive.
    await self[Symbol.asyncDispose]()
    throw error
  }
  return self
}

/** Lines of an archive as the bytes of a file. */
export async function* archiveOf(lines: readonly (object | string)[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
}

/** Throws unless the body is what the contract promises for this address. */
function checkShape(url: string, body: unknown) {
  const { pathname } = new URL(url)
  const found = endpointAt(pathname)
  if (found === undefined) throw new Error(`a 200 from ${pathname}, which is not in the contract`)
  const { data } = found
  const sent = body as { ok: unknown; data: unknown }
  const keys = JSON.stringify(Object.keys(sent))
  if (keys !== '["ok","data"]' || sent.ok !== true) throw new Error(`the envelope of ${pathname} is not as promised`)
  for (const error of Value.Errors(data, sent.data)) {
    throw new Error(`${pathname}: ${error.instancePath} ${error.message}`)
  }
}

/** The endpoint of a path: the one whose path it is, else the one that has an id in its place. */
function endpointAt(path: string): Endpoint | undefined {
  const all = Object.values<Endpoint>(api)
  const withId = path.replace(/[^/]+$/, ':id')
  return (
    all.find(endpoint => endpoint.path === decodeURIComponent(path)) ?? all.find(endpoint => endpoint.path === withId)
  )
}
