import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The floor: a bare server that sends the bytes of a file for every request. */
const [file = ''] = process.argv.slice(2)
// Written by run.ts.
const { status, headers, body } = JSON.parse(readFileSync(file, 'utf8')) as {
  status: number
  headers: string[]
  body: string | null
}
const server = createServer((_, response) => {
  response.writeHead(status, headers)
  response.end(body ?? undefined)
}).listen(0, '127.0.0.1', () =>
  process.stdout.write(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
)
