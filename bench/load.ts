import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { LoadRequest } from './data.ts'

/** The results of one load. */
export interface Load {
  readonly requests: number
  readonly seconds: number
  /** Responses with an unexpected status. */
  readonly unexpected: number
}

const hasWrk = spawnSync('wrk', ['-v']).error === undefined
/** The load generator. autocannon takes more CPU than the servers it measures, so wrk is preferred. */
export const loader = hasWrk ? 'wrk' : 'autocannon'

/** Pins a program to a core, if the system can. */
export function pinned(core: number, command: string, args: readonly string[]): [string, string[]] {
  return spawnSync('taskset', ['-V']).error === undefined
    ? ['taskset', ['-c', String(core), command, ...args]]
    : [command, [...args]]
}

export function runLoad(
  url: string,
  requests: readonly LoadRequest[],
  status: number,
  { seconds, connections, folder }: { seconds: number; connections: number; folder: string },
): Promise<Load> {
  return hasWrk
    ? wrk(url, requests, status, seconds, connections, folder)
    : autocannon(url, requests, status, seconds, connections)
}

async function wrk(
  url: string,
  requests: readonly LoadRequest[],
  status: number,
  seconds: number,
  connections: number,
  folder: string,
): Promise<Load> {
  const { host } = new URL(url)
  const texts = requests.map(({ path, headers }) => {
    const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
  })
  const script = join(folder, `requests-${process.pid}.lua`)
  // Lua cannot compile so many constants, and reads no zero byte as a separator.
  const file = join(folder, `requests-${process.pid}.txt`)
  writeFileSync(file, texts.map(text => `${text}\u0001`).join(''))
  writeFileSync(
    script,
    `local requests = {}
for text in io.open(${JSON.stringify(file)}):read('*a'):gmatch('([^\\1]+)\\1') do requests[#requests + 1] = text end
local next = 0
request = function() next = next % #requests + 1 return requests[next] end
done = function(summary)
  io.write(string.format('RESULT %d %d %d\\n', summary.requests, summary.duration, summary.errors.status))
end`,
  )
  const output = await run(
    ...pinned(1, 'wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url]),
  )
  const found = /RESULT (\d+) (\d+) (\d+)/.exec(output)
  if (found === null) throw new Error(`unexpected output of wrk: ${output}`)
  const [total = 0, microseconds = 0, errors = 0] = found.slice(1).map(Number)
  return {
    requests: total,
    seconds: microseconds / 1_000_000,
    // wrk counts responses of 400 and above.
    unexpected: status >= 400 ? total - errors : errors,
  }
}

async function autocannon(
  url: string,
  requests: readonly LoadRequest[],
  status: number,
  seconds: number,
  connections: number,
): Promise<Load> {
  const program = createRequire(import.meta.url).resolve('autocannon')
  const job = `const cannon = require(${JSON.stringify(program)})
    const { url, requests, seconds, connections } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
    // Each connection has a part of them: one that had all would encode all before it begins.
    const parts = Map.groupBy(requests, (_, index) => index % Math.min(connections, requests.length))
    let next = 0
    const setupClient = client => client.setRequests(parts.get(next++ % parts.size))
    cannon({ url, connections, duration: seconds, setupClient })
      .then(result => console.log(JSON.stringify(result)))`
  const output = await run(
    ...pinned(1, process.execPath, ['-e', job]),
    JSON.stringify({ url, requests, seconds, connections }),
  )
  // The format that its documentation describes.
  const result = JSON.parse(output) as {
    requests: { total: number }
    duration: number
    statusCodeStats: Record<string, { count: number }>
  }
  return {
    requests: result.requests.total,
    seconds: result.duration,
    unexpected: result.requests.total - (result.statusCodeStats[String(status)]?.count ?? 0),
  }
}

function run(command: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', chunk => (output += String(chunk)))
    child.on('error', reject)
    child.on('close', () => resolve(output))
    child.stdin.end(input)
  })
}
