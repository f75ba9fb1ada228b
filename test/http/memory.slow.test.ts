import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { runLoad } from '../../bench/load.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { newDatabase } from '../support/databases.ts'
import { largeArchive } from '../support/memory-worker.ts'
import { needsProc } from '../support/programs.ts'
import { serve } from '../support/serving.ts'

test('a process takes less than 220 MB under load', needsProc, async t => {
  const database = await newDatabase()
  t.after(() => database.remove())
  const store = await open(database.url, { busyTimeoutMs: 5000 })
  await importArchive(store, largeArchive(500))
  const request = { accountId: 1, name: 'test', scopes: ['dtt:read'], expiresAt: null }
  const headers = { Authorization: `Bearer ${await createKey(store, request, Date.now())}` }
  await store.close()
  await using service = await serve(database.url)
  const peak = () => {
    const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8')
    return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024)
  }
  const peaks = [peak()]
  for (const path of ['/api/v1/dtt/sessions/7', '/api/v1/dtt/sessions?limit=20', '/api/v1/dtt/sessions']) {
    const load = { seconds: 2, connections: 32, folder: tmpdir() }
    for (let sent = 0; sent < 100;) {
      const { requests, unexpected } = await runLoad(service.url, [{ path, headers }], 200, load)
      assert.ok(requests > 0)
      assert.equal(unexpected, 0)
      sent += requests
    }
    peaks.push(peak())
  }
  t.diagnostic(`MB: ${peaks.join(', ')}`)
  assert.ok(Math.max(...peaks) < 220, `${peaks.join(', ')} MB`)
})
