// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { newSqlite } from '../support/databases.ts'
import { startWorker } from '../support/memory-worker.ts'
import { account, lockSegment, lockSession } from '../support/records.ts'

/** The largest records: one long text, with one letter that makes it two bytes a character in memory, or many events. */
const largest: Readonly<Record<string, (id: number) => object>> = {
  'a long text with one letter that is not Latin': id => lockSession(id, 1, { name: `ж${'x'.repeat(1_047_000)}` }),
  '10,000 events': id =>
    lockSession(id, 1, {
      LockSegment: Array.from({ length: 10_000 }, (_, index) =>
        lockSegment(1_000_000 + index, 'a kind with a long name', `2026-01-01T00:00:00.${100 + (index % 900)}Z`, true),
      ),
    }),
}

test('a page of 100 records of the largest size is sent with less than 200 MB of memory', async t => {
  for (const [name, record] of Object.entries(largest)) {
    await t.test(name, async sub => {
      const database = newSqlite()
      const store = await open(database.url, { busyTimeoutMs: 5000 })
      const archive = async function* () {
        for (const line of [account(1, 'ann'), ...Array.from({ length: 100 }, (_, id) => record(id + 1))]) {
          yield Buffer.from(`${JSON.stringify(line)}\n`)
        }
      }
      await importArchive(store, archive())
      const request = { accountId: 1, name: 'test', scopes: ['lkbx:read'], expiresAt: null }
      const token = await createKey(store, request, Date.now())
      await store.close()

      await using worker = startWorker({ work: 'serve', url: database.url })
      const { baseUrl = '', megabytes: before } = await worker.hear('listening')
      const peaks: number[] = []
      for (let round = 0; round < 3; round += 1) {
        const headers = { Authorization: `Bearer ${token}` }
        const response = await fetch(`${baseUrl}/api/v1/lkbx/sessions?limit=100`, { headers })
        assert.equal(response.status, 200)
        let bytes = 0
        for await (const chunk of response.body ?? []) bytes += chunk.length
        assert.ok(bytes > 90_000_000)
        assert.equal(bytes, Number(response.headers.get('Content-Length')))
        peaks.push((await worker.memory()).megabytes)
      }
      await database.remove()
      sub.diagnostic(`${before} MB before, then at most ${peaks.join(', ')} MB`)
      assert.ok(Math.max(...peaks) < 200)
    })
  }
})
