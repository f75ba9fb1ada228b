import { ReadableStream } from 'node:stream/web'
import type { Send } from '../../../src/pull/source.ts'
import type { TestClock } from './pulls.ts'
import { makeResponder, type Reply, type SourceServer, type SourceServerOptions } from './source-server.ts'

/** What happens on the way: the response comes after the client has given up, is slow, or is that to the same request before. */
export type Delay = 'late' | 'slow' | 'repeated'

/** A source that is asked without a network, so that time passes only by the clock of the test. */
export interface Network extends Pick<SourceServer, 'requests' | 'fault' | 'before'> {
  readonly send: Send
  delay: ((index: number) => Delay | undefined) | undefined
}

export function makeNetwork(options: SourceServerOptions, clock: TestClock): Network {
  const { respond, state } = makeResponder({ now: clock.now, ...options })
  const earlier = new Map<string, Reply>()
  const network: Network = Object.assign(state, {
    delay: undefined,
    send: async (url, { headers }) => {
      const delay = network.delay?.(state.requests.length)
      const made = respond(
        url.slice(new URL(url).origin.length),
        new Headers(headers).get('Authorization') ?? undefined,
      )
      const reply = delay === 'repeated' ? (earlier.get(url) ?? made) : made
      if (typeof made !== 'string' && made.status < 300) earlier.set(url, made)
      clock.time += delay === 'late' ? TIMEOUT_MS : delay === 'slow' ? TIMEOUT_MS - 1 : 50
      if (delay === 'late') throw new DOMException('no response', 'TimeoutError')
      if (reply === 'cut')
        throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
      if (reply === 'cut body') return new Response(ReadableStream.from(cutBody()) as unknown as BodyInit)
      return new Response(reply.body, { status: reply.status, ...(reply.headers && { headers: reply.headers }) })
    },
  } satisfies Pick<Network, 'send' | 'delay'>)
  return network
}

const TIMEOUT_MS = 30_000

async function* cutBody(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"ok":true,"data":')
  throw new TypeError('terminated', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
}
