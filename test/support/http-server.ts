import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface HttpServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
}

/** A server that is not the service. */
export async function startHttpServer(listener: RequestListener): Promise<HttpServer> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Sends spaces until the connection is closed. Returns how many bytes. */
export async function sendEndlessly(response: ServerResponse, chunkBytes: number): Promise<number> {
  const chunk = Buffer.alloc(chunkBytes, ' ')
  let sent = 0
  const send = () => {
    while (!response.destroyed) {
      sent += chunk.length
      if (!response.write(chunk)) return response.once('drain', send)
    }
    return undefined
  }
  const closed = once(response, 'close')
  send()
  await closed
  return sent
}
