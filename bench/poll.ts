import { connect, type Socket } from 'node:net'
import type { LoadRequest } from './data.ts'

/** The results of a load whose requests come at random times, whether or not earlier ones are answered. */
export interface Polled {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds from when a request was due to the end of its response, ascending. */
  readonly latencies: Float64Array
  /** How many responses had which status. */
  readonly statuses: ReadonlyMap<number, number>
}

interface PollOptions<Request> {
  /** All requests if undefined. */
  readonly seconds?: number
  readonly connections: number
  /** Requests in a second, at random times; without it the next one is sent as soon as a connection is free. */
  readonly rate?: number
  readonly onResponse?: (request: Request, etag: string) => void
}

/** Sends requests and resolves when all are answered. Rejects if the service closes a connection. */
export async function poll<Request extends LoadRequest>(
  url: string,
  requests: Iterator<Request, undefined>,
  { seconds = Infinity, connections, rate, onResponse }: PollOptions<Request>,
): Promise<Polled> {
  const { hostname, port, host } = new URL(url)
  const latencies: number[] = []
  const statuses = new Map<number, number>()
  const idle = await Promise.all(Array.from({ length: connections }, () => open(hostname, Number(port))))
  const start = performance.now()
  const end = start + seconds * 1000
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let next = requests.next()
  let due = start
  let active = 0

  const advance = () => {
    next = requests.next()
    due = rate === undefined ? performance.now() : due - (Math.log(1 - Math.random()) * 1000) / rate
    if (due > end) next = { done: true, value: undefined }
  }
  const send = async (socket: Socket, request: Request, since: number) => {
    const { status, etag } = await exchange(socket, textOf(request, host))
    latencies.push(performance.now() - since)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    onResponse?.(request, etag)
    idle.push(socket)
    active -= 1
    step()
  }
  const step = () => {
    while (next.done !== true && due <= performance.now()) {
      const socket = idle.pop()
      if (socket === undefined) return
      active += 1
      send(socket, next.value, due).catch(reject)
      advance()
    }
    if (next.done === true && active === 0) resolve()
  }
  const timer = setInterval(step, 1)
  step()
  await promise.finally(() => clearInterval(timer))
  for (const socket of idle) socket.destroy()
  const sorted = Float64Array.from(latencies).sort()
  return { requests: sorted.length, seconds: (performance.now() - start) / 1000, latencies: sorted, statuses }
}

export function quantile(sorted: Float64Array, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })
}

function textOf({ path, headers }: LoadRequest, host: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`
}

/** One request and its response, which has a `Content-Length` or no body. */
function exchange(socket: Socket, request: string): Promise<{ readonly status: number; readonly etag: string }> {
  return new Promise((resolve, reject) => {
    let head = ''
    let missing = NaN
    const onData = (chunk: Buffer) => {
      if (Number.isNaN(missing)) {
        head += chunk.toString('latin1')
        const headEnd = head.indexOf('\r\n\r\n')
        if (headEnd === -1) return
        missing = lengthOf(head.slice(0, headEnd + 2)) - (head.length - headEnd - 4)
      } else missing -= chunk.length
      if (missing > 0) return
      socket.off('data', onData).off('close', onClose)
      resolve({ status: Number(head.slice(9, 12)), etag: /\r\netag: (.*)\r\n/i.exec(head)?.[1] ?? '' })
    }
    const onClose = () => reject(new Error('the service closed a connection'))
    socket.on('data', onData).once('close', onClose)
    socket.write(request)
  })
}

function lengthOf(head: string): number {
  return head.startsWith('HTTP/1.1 304') ? 0 : Number(/\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1] ?? 0)
}
