import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { StoreError } from './store.ts'

/** Finds the server that accepts writes, among several. */
export interface PrimaryLocator {
  /** The address of that server, or of the last one while there is none. */
  readonly url: string
  /** Whether a server with this timeline, which accepts writes, is no former primary, so that it may be read. */
  isCurrent(timeline: number): boolean
  /** Throws if the server of a new connection is not the one that accepts writes. */
  verify(client: pg.ClientBase, url: string): Promise<void>
  /** A socket for a connection to a server, which is closed once another server accepts the writes. */
  openSocket(url: string): Socket
  close(): Promise<void>
}

/** The state that a server reports. */
export type ServerState =
  | { readonly role: 'primary'; readonly timeline: number; readonly system: string }
  | { readonly role: 'replica'; readonly system: string }
  | { readonly role: 'unknown' }

/**
 * Asks every server once a second, and more often while none accepts writes. A server that was promoted begins a new timeline, so
 * of several that accept writes the one with the highest is the primary. One with a lower timeline than was ever seen here is a
 * former primary that came back. Writes to it would be lost, and API keys that were revoked since would work.
 */
export async function locatePrimary(
  urls: readonly string[],
  makeMonitor: (url: string) => pg.Pool,
): Promise<PrimaryLocator> {
  const closing = new AbortController()
  const states = new Map<string, ServerState>(urls.map(url => [url, { role: 'unknown' }]))
  const sockets = new Map<Socket, string>()
  let newest: Primary | undefined
  let found: Primary | undefined
  let url = urls[0] ?? ''

  const note = (server: string, state: ServerState) => {
    states.set(server, state)
    found = choosePrimary(states, newest)
    newest = found ?? newest
    url = found?.url ?? url
    for (const [socket, other] of sockets) {
      // While the primary does not respond, its connections stay: it may only be slow.
      if (other !== url || (found === undefined && states.get(other)?.role !== 'unknown')) socket.destroy()
    }
  }

  const watch = (server: string) => {
    const pool = makeMonitor(server)
    const check = async () => note(server, await readState(pool))
    const repeat = async () => {
      while (!closing.signal.aborted) {
        const isSettled = found !== undefined && states.get(url)?.role === 'primary'
        const pause = isSettled ? CHECK_INTERVAL_MS : SEARCH_INTERVAL_MS
        await sleep(pause, undefined, { ref: false, signal: closing.signal }).catch(() => {})
        if (!closing.signal.aborted) await check()
      }
      await pool.end()
    }
    const first = check()
    return { first, done: first.then(repeat) }
  }
  const watches = urls.map(watch)
  await Promise.all(watches.map(({ first }) => first))

  return {
    get url() {
      return url
    },
    isCurrent: timeline => newest === undefined || timeline >= newest.timeline,
    async verify(client, server) {
      note(server, await readState(client))
      if (found?.url !== server) throw new StoreError(`no server accepts writes: ${describe(states, newest)}`)
    },
    openSocket(server) {
      const socket = new Socket()
      sockets.set(socket, server)
      return socket.once('close', () => sockets.delete(socket))
    },
    async close() {
      closing.abort()
      await Promise.all(watches.map(({ done }) => done))
    },
  }
}

export interface Primary {
  readonly url: string
  readonly timeline: number
  readonly system: string
}

/** The server to write to, given the newest primary that was ever seen; undefined if there is none, or if several could be it. */
export function choosePrimary(
  states: ReadonlyMap<string, ServerState>,
  newest: Omit<Primary, 'url'> | undefined,
): Primary | undefined {
  const systems = new Set([...states.values()].flatMap(state => (state.role === 'unknown' ? [] : state.system)))
  // Timelines of databases that have nothing to do with each other cannot be compared.
  const [system] = newest === undefined ? systems : [newest.system]
  if (newest === undefined && systems.size > 1) return undefined
  const primaries = [...states].flatMap(([url, state]): Primary[] =>
    state.role === 'primary' && state.system === system ? [{ ...state, url }] : [],
  )
  const timeline = Math.max(newest?.timeline ?? 0, ...primaries.map(primary => primary.timeline))
  const newestOnes = primaries.filter(primary => primary.timeline === timeline)
  // Two servers on one timeline were both promoted.
  return newestOnes.length === 1 ? newestOnes[0] : undefined
}

const CHECK_INTERVAL_MS = 1000
const SEARCH_INTERVAL_MS = 200

/**
 * The timeline of a server that accepts writes, in hexadecimal: the name of the file that its next log record goes to begins
 * with it. Null for a replica.
 */
export const OWN_TIMELINE = `case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end`

const STATE = `select pg_is_in_recovery() as "isReplica",
  (select system_identifier::text from pg_control_system()) as system, ${OWN_TIMELINE} as timeline`

interface StateRow {
  readonly isReplica: boolean
  readonly system: string
  readonly timeline: string | null
}

async function readState(server: Pick<pg.ClientBase, 'query'> | pg.Pool): Promise<ServerState> {
  try {
    const { rows } = await server.query<StateRow>({ text: STATE, ...STATE_TIMEOUT })
    const [row] = rows
    if (row === undefined) return { role: 'unknown' }
    const { isReplica, system, timeline } = row
    if (isReplica || timeline === null) return { role: 'replica', system }
    return { role: 'primary', system, timeline: Number.parseInt(timeline, 16) }
  } catch {
    return { role: 'unknown' }
  }
}

/** For connections that have no timeout, such as those of a command. */
const STATE_TIMEOUT = { query_timeout: 2000 }

/** What is wrong with each server, for an operator; contains no passwords. */
function describe(states: ReadonlyMap<string, ServerState>, newest: Primary | undefined): string {
  return [...states]
    .map(([url, state]) => {
      const { host } = new URL(url)
      if (state.role === 'unknown') return `${host} does not respond`
      if (state.role === 'replica') return `${host} is a replica`
      const isOld = newest !== undefined && state.timeline < newest.timeline
      return isOld ? `${host} is a former primary` : `${host} accepts writes, as another one does`
    })
    .join(', ')
}
