import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

/** The floor: a bare server that sends the bytes of a file for every request. */
const [file = '', port = '0'] = process.argv.slice(2)
// Written by run.ts.
const { status, headers, body } = JSON.parse(readFileSync(file, 'utf8')) as {
  status: number
  headers: string[]
  body: string | null
}
createServer((_, response) => {
  response.writeHead(status, headers)
  response.end(body ?? undefined)
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('Listening\n'))
