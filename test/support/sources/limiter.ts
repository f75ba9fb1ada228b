import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy before a server of the API that allows so many requests in a minute, as hosted services do. */
export interface Limiter extends AsyncDisposable {
  readonly url: string
  /** How many requests it passed on, and how many it refused. */
  readonly counts: { passed: number; refused: number }
}

/** `minuteMs` makes the minute shorter, for tests that cannot wait. */
export async function startLimiter(
  target: string,
  { perMinute, minuteMs = 60_000 }: { readonly perMinute: number; readonly minuteMs?: number },
): Promise<Limiter> {
  const counts = { passed: 0, refused: 0 }
  const sent: number[] = []
  const server = createServer((incoming, response) => {
    const now = performance.now()
    while (sent.length > 0 && now - (sent[0] ?? 0) >= minuteMs) sent.shift()
    if (sent.length >= perMinute) {
      counts.refused += 1
      const seconds = Math.ceil(((sent[0] ?? 0) + minuteMs - now) / 1000)
      response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': String(Math.max(1, seconds)) })
      return void response.end('{"ok":false,"error":"Too many requests"}')
    }
    sent.push(now)
    counts.passed += 1
    const { host: _, ...headers } = incoming.headers
    const outgoing = request(target + (incoming.url ?? ''), { headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    outgoing.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
