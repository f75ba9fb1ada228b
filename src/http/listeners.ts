import cluster from 'node:cluster'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { BoundSocket, createServer, type Server } from 'node:net'
import { env } from 'node:process'
import type { Config } from '../config.ts'

/**
 * The sockets of a port. In each turn of the event loop Node accepts one connection from each socket that listens, and a supervisor passes
 * one to each of its workers. A busy process has few turns, so on Linux several sockets share the port. There is one elsewhere.
 */

type Address = Pick<Config, 'host' | 'port'>

/** Binds the sockets of a port. Rejects if it is taken. */
async function bind({ host, port }: Address): Promise<BoundSocket[]> {
  const { address } = await lookup(host)
  const isShared = process.platform === 'linux'
  // A socket that shares its port also shares it with other processes. The system never chooses such a port.
  if (isShared && port !== 0) new BoundSocket({ host: address, port }).close()
  const first = new BoundSocket({ host: address, port, reusePort: isShared })
  const others = Array.from({ length: isShared ? SOCKETS - 1 : 0 }, () => {
    return new BoundSocket({ host: address, port: first.address().port, reusePort: true })
  })
  return [first, ...others]
}

/** Makes a server listen, and returns everything that listens for it. Rejects if the address is taken. */
export async function listen(server: HttpServer, address: Address): Promise<Server[]> {
  const bound = cluster.isWorker ? boundBySupervisor() : await bind(address)
  const listen = async (listener: Server, socket: BoundSocket | { readonly fd: number }) => {
    await once(listener.listen(socket, BACKLOG), 'listening')
    return listener
  }
  return Promise.all(
    bound.map((socket, index) => {
      if (index === 0) return listen(server, socket)
      const pass = createServer({ allowHalfOpen: true, noDelay: true }, connection =>
        server.emit('connection', connection),
      )
      return listen(pass, socket)
    }),
  )
}

export interface SocketsOfWorkers {
  readonly port: number
  /** What tells workers of them. */
  readonly environment: Readonly<Record<string, string>>
}

/** Binds the sockets that workers listen on. Rejects if the port is taken. */
export async function bindForWorkers(address: Address): Promise<SocketsOfWorkers> {
  const sockets = await bind(address)
  return {
    port: sockets[0]?.address().port ?? address.port,
    environment: { [SOCKETS_OF_SUPERVISOR]: sockets.map(socket => socket.fd()).join(',') },
  }
}

/** The sockets as the supervisor knows them: its workers listen through it. */
function boundBySupervisor() {
  return (env[SOCKETS_OF_SUPERVISOR] ?? '').split(',').map(fd => ({ fd: Number(fd) }))
}

const SOCKETS = 32
/** How many connections may wait to be accepted on each socket, if the system allows as many. */
const BACKLOG = 4096
const SOCKETS_OF_SUPERVISOR = 'SOCKETS_OF_SUPERVISOR'
