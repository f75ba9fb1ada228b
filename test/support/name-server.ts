import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIPv4 } from 'node:net'

export interface NameServer extends AsyncDisposable {
  /** All addresses of a name, as this server answers. */
  readonly resolve: (name: string) => Promise<LookupAddress[]>
  /** The names that were asked for, once for each question. */
  readonly asked: string[]
}

/** A DNS server on this machine. `answer` is called for each question, with its name and the version of addresses. */
export async function startNameServer(
  answer: (name: string, version: 4 | 6) => readonly string[],
): Promise<NameServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, end } = questionOf(query)
    const version = query.readUInt16BE(end - 4) === TYPE_A ? 4 : 6
    asked.push(name)
    socket.send(responseTo(query, end, answer(name, version)), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked,
    async resolve(name) {
      const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      const found = [four, six].flatMap((result, index) =>
        result.status === 'fulfilled' ? result.value.map(address => ({ address, family: index === 0 ? 4 : 6 })) : [],
      )
      if (found.length === 0) throw new Error('there is no such name')
      return found
    },
    async [Symbol.asyncDispose]() {
      resolver.cancel()
      socket.close()
      await once(socket, 'close')
    },
  }
}

const TYPE_A = 1
const TYPE_AAAA = 28
const HEADER_BYTES = 12

function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let position = HEADER_BYTES
  for (let length = query[position] ?? 0; length > 0; length = query[position] ?? 0) {
    labels.push(query.toString('latin1', position + 1, position + 1 + length))
    position += 1 + length
  }
  // After the root come type and class.
  return { name: labels.join('.'), end: position + 5 }
}

function responseTo(query: Buffer, end: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(query.subarray(0, end))
  // A response, by a server with recursion, without an error.
  head.writeUInt16BE(0x81_80, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const answers = addresses.map(address => {
    const bytes = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
    const record = Buffer.alloc(12)
    // The name of the question, a type, class IN, valid for no time, and a length.
    record.writeUInt16BE(0xc0_0c, 0)
    record.writeUInt16BE(isIPv4(address) ? TYPE_A : TYPE_AAAA, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(bytes.length, 10)
    return Buffer.concat([record, bytes])
  })
  return Buffer.concat([head, ...answers])
}

function ipv6Bytes(address: string): Buffer {
  const [before = '', after = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const words = (text: string) => (text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16)))
  const zeros = Array.from({ length: 8 - words(before).length - words(after).length }, () => 0)
  const bytes = Buffer.alloc(16)
  for (const [index, word] of [...words(before), ...zeros, ...words(after)].entries())
    bytes.writeUInt16BE(word, index * 2)
  return bytes
}
