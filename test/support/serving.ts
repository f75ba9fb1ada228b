import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Running, start } from './command.ts'
import { onBusyMachine } from './service.ts'

/** A service in processes of its own, as an operator runs it. */
export interface Serving extends Running {
  readonly url: string
}

export async function serve(
  database: string,
  { args = [], settings = {} }: { args?: readonly string[]; settings?: Readonly<Record<string, string>> } = {},
): Promise<Serving> {
  const running = start(['serve', '--port', '0', '--database', database, ...args], {
    env: {
      ...onBusyMachine,
      LOCKSTEP_RATE_LIMIT: '0',
      LOCKSTEP_FAILURE_LIMIT: '0',
      LOCKSTEP_CONCURRENCY_LIMIT: '0',
      LOCKSTEP_ACCESS_LOG: 'off',
      ...settings,
    },
  })
  try {
    const [, url = ''] = await running.says(/Listening on (\S+)/)
    return { ...running, url }
  } catch (error) {
    await running[Symbol.asyncDispose]()
    throw error
  }
}

/** The result of a request. */
export interface Outcome {
  /** When it was sent and how long it took, in milliseconds. */
  readonly at: number
  readonly took: number
  /** The status, or the code of the error that the connection ended with. */
  readonly status: number | string
  readonly retryAfter: string | undefined
  readonly rateLimit: string | undefined
  readonly text: string
}

/** Sends a request on a connection of its own, or on one that the agent keeps. Never rejects. */
export function ask(url: string, token?: string, agent: Agent | false = false): Promise<Outcome> {
  const at = performance.now()
  return new Promise(resolve => {
    const end = (status: number | string, text = '', headers: NodeJS.Dict<string | string[]> = {}) =>
      resolve({
        at,
        took: performance.now() - at,
        status,
        text,
        retryAfter: headers['retry-after']?.toString(),
        rateLimit: headers['ratelimit']?.toString(),
      })
    const request = get(url, { agent, headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } })
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The connection was ended while idle: clients that keep connections have to retry such a request.
      if (request.reusedSocket && error.code === 'ECONNRESET') void ask(url, token, agent).then(resolve)
      else end(error.code ?? error.message)
    })
    request.on('response', response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () => end(response.statusCode ?? 0, text, response.headers))
      response.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
    })
  })
}

/** The pause before the next request of a client: short enough to notice every change, long enough to leave the service some time. */
const PAUSE_MS = 10

/** Clients that send requests one after another until they are stopped, or their scope is left. */
export interface Load extends AsyncDisposable {
  readonly outcomes: readonly Outcome[]
  /** Waits until this number of further requests have been answered. */
  more(count: number): Promise<void>
  stop(): Promise<readonly Outcome[]>
}

export function startLoad(
  url: string,
  token: string,
  { clients = 4, keepAlive = false }: { clients?: number; keepAlive?: boolean } = {},
): Load {
  const outcomes: Outcome[] = []
  const agent = keepAlive ? new Agent({ keepAlive: true, maxSockets: clients }) : false
  let stopped = false
  const isStopped = () => stopped
  const work = Array.from({ length: clients }, async () => {
    while (!isStopped()) {
      outcomes.push(await ask(url, token, agent))
      await sleep(PAUSE_MS)
    }
  })
  const stop = async () => {
    stopped = true
    await Promise.all(work)
    if (agent !== false) agent.destroy()
    return outcomes
  }
  return {
    outcomes,
    async more(count) {
      const enough = outcomes.length + count
      while (outcomes.length < enough) await sleep(5)
    },
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  }
}

/** How often each status came. */
export function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of outcomes) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
