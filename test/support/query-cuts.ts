import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { eachMessage } from './proxy.ts'

/** How a connection ends: before a query reaches the server, within its answer, after it and before the client has it, or with the server. */
export const cuts = ['before', 'within', 'after', 'away'] as const

export type Cut = (typeof cuts)[number]

/** A proxy before a PostgreSQL server that counts queries and cuts the connection of one of them. */
export interface QueryCuts extends AsyncDisposable {
  /** The address of a database of the server, through the proxy. */
  urlOf(url: string): string
  /** Counts from one again. The connection of the query with this number is cut; none with 0. */
  arm(number: number, how: Cut): void
  /** How many queries there were. */
  readonly queries: number
  /** The text of the query that was cut, if it was sent as one. */
  readonly failed: string
}

export async function startQueryCuts(port: number): Promise<QueryCuts> {
  const sockets = new Set<Socket>()
  const plan = { at: 0, how: 'before' as Cut, queries: 0, failed: '', isAway: false }

  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    const destroy = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          destroy()
        })
    }
    if (plan.isAway) return destroy()
    let isCut: Cut | undefined
    upstream.on('data', (chunk: Buffer) => {
      if (isCut === undefined) client.write(chunk)
      else if (isCut === 'within') client.end(chunk.subarray(0, chunk.length >> 1), destroy)
      else if (isReady(chunk)) destroy()
    })
    client.on(
      'data',
      eachMessage((message, type) => {
        if (isCut !== undefined) return
        if (type === 'P' || type === 'Q')
          plan.failed = plan.queries + 1 <= plan.at ? textOf(message, type) : plan.failed
        if (type === 'Q' || type === 'S') {
          plan.queries += 1
          if (plan.queries === plan.at) isCut = plan.how
        }
        if (isCut === 'away') {
          plan.isAway = true
          for (const socket of sockets) socket.destroy()
        } else if (isCut === 'before') destroy()
        else upstream.write(message)
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = (server.address() as AddressInfo).port
  return {
    urlOf(url) {
      const through = new URL(url)
      through.port = String(own)
      return through.href
    },
    arm: (at, how) => void Object.assign(plan, { at, how, queries: 0, failed: '', isAway: false }),
    get queries() {
      return plan.queries
    },
    get failed() {
      return plan.failed
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Whether the server has answered and waits for the next query (ReadyForQuery). */
function isReady(chunk: Buffer): boolean {
  return chunk.length >= 6 && chunk.readInt32BE(chunk.length - 5) === 5 && chunk[chunk.length - 6] === 0x5a
}

/** The text of a Query or a Parse message, which names its statement first. */
function textOf(message: Buffer, type: string): string {
  const start = type === 'Q' ? 5 : message.indexOf(0, 5) + 1
  return message.toString('utf8', start, message.indexOf(0, start)).slice(0, 200)
}
