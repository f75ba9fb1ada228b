import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

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
