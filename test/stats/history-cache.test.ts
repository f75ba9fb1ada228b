// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cacheOf } from '../../src/stats/history-cache.ts'
import { account } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

test('a value that several requests need at the same time is read once for all of them, and again after a failure', async () => {
  await using service = await startService([account(1, 'ann')])
  const gate = Promise.withResolvers<void>()
  let reads = 0
  async function ask(key: string, read: () => Promise<number>) {
    const cache = await cacheOf(service.store, 1)
    const count = () => {
      reads += 1
      return read()
    }
    return cache.get(key, count, () => 8)
  }
  const away = () => Promise.reject(new Error('away'))
  await assert.rejects(ask('sum', away), { message: 'away' })
  await assert.rejects(ask('sum', away), { message: 'away' })
  assert.equal(reads, 2)

  const answers = Promise.all([1, 2, 3].map(value => ask('sum', () => gate.promise.then(() => value))))
  await until(async () => reads >= 3)
  // By now the others have reached this point, too.
  for (const name of ['one', 'two', 'three']) await ask(name, () => Promise.resolve(0))
  gate.resolve()
  const [first, ...others] = await answers
  assert.deepEqual(others, [first, first])
  assert.equal(await ask('sum', away), first)
  assert.equal(reads, 6)
})
