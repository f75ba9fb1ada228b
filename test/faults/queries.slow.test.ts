import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after } from 'node:test'
import { makeScene, postgresCommands, type Scene, titleOf } from '../support/faulted-commands.ts'
import { sharedServer, testOnPostgres } from '../support/postgres.ts'
import { eachPoint, type Point } from '../support/sweeps.ts'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { eachMessage } from '../support/proxy.ts'

// engine: any

// The connection of each query is cut before it, within its answer, or after it, or the server is gone from then on.

let made: Promise<{ scene: Scene; proxy: QueryCuts }> | undefined

after(async () => {
  const shared = await made
  await shared?.scene[Symbol.asyncDispose]()
  await shared?.proxy[Symbol.asyncDispose]()
})

async function makeShared() {
  const server = await sharedServer()
  const proxy = await startQueryCuts(server.port)
  return { proxy, scene: await makeScene(server, url => proxy.urlOf(url)) }
}

for (const [shift, command] of postgresCommands.entries()) {
  testOnPostgres(
    `${titleOf(command)}: whichever query loses its connection, the change is whole or not there, and nothing is left over`,
    async t => {
      made ??= makeShared()
      const { scene, proxy } = await made
      const { folder } = scene
      const env = { TMPDIR: folder.file('tmp') }
      proxy.arm(0, 'before')
      const expected = await scene.undisturbed(command, env)
      const total = Math.ceil(proxy.queries / 2)
      const attempt = async ({ how, number }: Point<Cut>) => {
        await scene.reset(command)
        proxy.arm(number, how)
        const ended = await scene.attempt(command, env)
        const { queries, failed } = proxy
        proxy.arm(0, 'before')
        if (queries < number) return false
        try {
          assert.deepEqual(readdirSync(folder.file('tmp')), [], 'temporary files')
          await scene.check(command, ended, expected)
        } catch (error) {
          throw new Error(`${failed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
        }
        return true
      }
      const failed = await eachPoint({ total, ways: cuts, sample: 2, shift }, attempt)
      t.diagnostic(`${total} queries, ${failed} failures`)
    },
  )
}

/** How a connection ends: before a query reaches the server, within its answer, after it and before the client has it, or with the server. */
const cuts = ['before', 'within', 'after', 'away'] as const

type Cut = (typeof cuts)[number]

/** A proxy before a PostgreSQL server that counts queries and cuts the connection of one of them. */
interface QueryCuts extends AsyncDisposable {
  /** The address of a database of the server, through the proxy. */
  urlOf(url: string): string
  /** Counts from one again. The connection of the query with this number is cut; none with 0. */
  arm(number: number, how: Cut): void
  /** How many queries there were. */
  readonly queries: number
  /** The text of the query that was cut, if it was sent as one. */
  readonly failed: string
}

async function startQueryCuts(port: number): Promise<QueryCuts> {
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
