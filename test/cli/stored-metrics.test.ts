// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { storedMetrics } from '../../src/cli/stored-metrics.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { cut } from '../support/archives.ts'
import { cast } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { addKnownSource } from '../support/sources/pulls.ts'

function valueIn(metrics: string, name: string): number | undefined {
  const value = new RegExp(`^lockstep_${name} (\\S+)$`, 'm').exec(metrics)?.[1]
  return value === undefined ? undefined : Number(value)
}

test('rejected rows, the last complete round of the pull that is furthest behind, and connected sources that fail are metrics', async () => {
  await using service = await startService(cast)
  const metrics = new Metrics()
  metrics.watch(storedMetrics(service.store))
  const values = async () => {
    const text = await metrics.text()
    return ['set_aside_rows', 'pull_completed_timestamp_seconds', 'source_connections_failing'].map(name =>
      valueIn(text, name),
    )
  }
  assert.deepEqual(await values(), [0, undefined, 0])
  const unknownKind = Buffer.from(JSON.stringify({ kind: 'x', data: {} }))
  await importArchive(service.store, cut(unknownKind, []), { onError: 'set-aside', source: 'history.ndjson' })
  for (const completed_at of [60_000, 30_000]) {
    await addKnownSource(service.store, { origin: `https://${completed_at}.example`, completed_at })
  }
  const [first, second] = await service.store.db.selectFrom('account').select('id').orderBy('id').execute()
  for (const [account_id = 0, failing_since] of [
    [first?.id, null],
    [second?.id, 90_000],
  ] as const) {
    const empty = { every_minutes: 5, known_locks: '', mine: 0 }
    await service.store.db
      .insertInto('source_connection')
      .values({ ...empty, account_id, origin: 'https://history.example', failing_since })
      .execute()
  }
  assert.deepEqual(await values(), [1, 30, 1])
})
