import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../src/accounts/api-keys.ts'
import { importArchive } from '../src/archive/import.ts'
import { startService } from '../src/cli/service.ts'
import { readConfig } from '../src/config.ts'
import { defaultScopes } from '../src/contract/endpoint.ts'
import { sampleArchive } from '../src/demo/sample.ts'
import { makeLog } from '../src/http/log.ts'
import { open } from '../src/store/index.ts'
import type { SampleName } from './openapi/guide.ts'

const TODAY = Date.UTC(2026, 1, 16, 12)
const ALEX = 1

/** The responses of a service with the sample data of a fixed day, as blocks of Markdown. */
export async function sampleResponses(): Promise<Readonly<Record<Exclude<SampleName, 'loop'>, string>>> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-docs-'))
  const databaseUrl = `sqlite:${join(folder, 'sample.db')}`
  const store = await open(databaseUrl, { busyTimeoutMs: 5000 })
  const service = await startService({
    store,
    config: readConfig({ LOCKSTEP_DATABASE_URL: databaseUrl, LOCKSTEP_PORT: '0' }),
    log: makeLog(() => {}, { accessLog: false }),
  })
  try {
    await importArchive(store, chunks())
    const token = await createKey(
      store,
      { accountId: ALEX, name: 'Docs', scopes: defaultScopes, expiresAt: null },
      Date.now(),
    )
    const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${service.url}/api/v1${path}`, {
        headers: { Authorization: `Bearer ${token}`, ...headers },
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    }
    const list = await get('/dtt?limit=1&cursor=')
    const locks = await get('/lkbx/sessions?ownerId=me')
    const { id } = JSON.parse(locks.text).data.data.find(({ LockSegment }: any) => LockSegment.length === 2)
    const path = `/lkbx/sessions/${id}`
    const record = await get(path)
    const etag = record.headers.get('ETag') ?? ''
    const unchanged = await get(path, { 'If-None-Match': etag })
    const error = await get('/dtt?limit=1000')
    return {
      list: json(list.text),
      record: json(record.text),
      unchanged: `\`\`\`http
GET /api/v1${path} HTTP/1.1
Authorization: Bearer lks_…
If-None-Match: ${etag}

HTTP/1.1 ${unchanged.status} Not Modified
ETag: ${unchanged.headers.get('ETag')}
\`\`\``,
      error: json(error.text.replace(/(?<="requestId":")[^"]*/, '3f0c…')),
    }
  } finally {
    await service.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

async function* chunks() {
  for (const line of sampleArchive(TODAY)) yield Buffer.from(`${line}\n`)
}

function json(text: string): string {
  return `\`\`\`json\n${JSON.stringify(JSON.parse(text), null, 2)}\n\`\`\``
}
