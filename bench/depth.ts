import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config.ts'
import { makeLog } from '../src/http/log.ts'
import { startService } from '../src/cli/service.ts'
import { open } from '../src/store/index.ts'
import { fill } from './data.ts'

/**
 * Measures a page deep in a long list, by offset and by cursor. One account, pages of 50 lock templates, one request after
 * the other. Client and server share the process, so the times include the client.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '41' },
    depth: { type: 'string', default: '100000' },
    /** An empty PostgreSQL database to measure instead of SQLite. */
    postgres: { type: 'string' },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'))
const url = flags.postgres ?? `sqlite:${join(folder, 'depth.db')}`
const depth = Number(flags.depth)
const [token = ''] = (await fill(url, { accounts: 1, sessions: 0, templates: depth + 100 }, 1)).values()
const store = await open(url, { busyTimeoutMs: 5000, statementTimeoutMs: 4000 })
const config = readConfig({ LOCKSTEP_PORT: '0', LOCKSTEP_RATE_LIMIT: '0' })
const service = await startService({ store, config, log: makeLog(() => {}, { accessLog: false }) })
try {
  const list = `${service.url}/api/v1/lkbx/templates?limit=50`
  const pages: readonly (readonly [name: string, url: string])[] = [
    ['first page, by offset', list],
    ['first page, by cursor', `${list}&cursor=`],
    [`page after ${depth} rows, by offset`, `${list}&offset=${depth}`],
    [`page after ${depth} rows, by cursor`, `${list}&cursor=${await cursorAt(list)}`],
  ]
  console.log('| Page | median | slowest |\n| --- | ---: | ---: |')
  for (const [name, page] of pages) {
    const times: number[] = []
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      const start = performance.now()
      const { data } = await fetchPage(page)
      times.push(performance.now() - start)
      if (data.length !== 50) throw new Error(`${name} has ${data.length} rows`)
    }
    times.sort((a, b) => a - b)
    const ms = (time: number | undefined) => `${time?.toFixed(2)} ms`
    console.log(`| ${name} | ${ms(times[times.length >> 1])} | ${ms(times.at(-1))} |`)
  }
} finally {
  await service.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}

interface PageData {
  readonly data: readonly unknown[]
  readonly pagination: { readonly nextCursor?: string | null }
}

async function fetchPage(page: string): Promise<PageData> {
  const response = await fetch(page, { headers: { Authorization: `Bearer ${token}` } })
  if (response.status !== 200) throw new Error(`the status is ${response.status}`)
  // The contract promises this shape.
  return ((await response.json()) as { data: PageData }).data
}

/** Follows the cursor until this many rows are behind it. */
async function cursorAt(list: string): Promise<string> {
  let cursor = ''
  for (let passed = 0; passed < depth; passed += 100) {
    const { pagination } = await fetchPage(`${list.replace('limit=50', 'limit=100')}&cursor=${cursor}`)
    cursor = pagination.nextCursor ?? ''
  }
  return cursor
}
