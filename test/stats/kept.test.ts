import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptReads } from '../../src/stats/kept.ts'
import { account } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

test('what requests read at the same time is read once for all of them, and again after a failure', async () => {
  await using service = await startService([account(1, 'ann')])
  const begun: { readonly key: string; readonly answer: PromiseWithResolvers<number> }[] = []
  async function ask(key: string) {
    const kept = await keptReads(service.store)
    const read = () => {
      const answer = Promise.withResolvers<number>()
      begun.push({ key, answer })
      return answer.promise
    }
    return kept.ofRecords(1, key, read, () => 1)
  }
  /** The reads that two requests of one key begin, and what they get: one of another key follows them, as far as it gets. */
  async function askTwice(round: number) {
    const answers = Promise.allSettled([ask('sum'), ask('sum')])
    void ask(`round ${round}`)
    await until(async () => begun.some(({ key }) => key === `round ${round}`))
    return { answers, reads: begun.splice(0).filter(({ key }) => key === 'sum') }
  }

  const first = await askTwice(1)
  assert.equal(first.reads.length, 1)
  first.reads[0]?.answer.reject(new Error('away'))
  assert.deepEqual(await first.answers.then(outcomes), ['away', 'away'])

  const second = await askTwice(2)
  assert.equal(second.reads.length, 1)
  second.reads[0]?.answer.resolve(7)
  assert.deepEqual(await second.answers.then(outcomes), [7, 7])

  const third = await askTwice(3)
  assert.equal(third.reads.length, 0)
  assert.deepEqual(await third.answers.then(outcomes), [7, 7])
})

test('what is kept has a bound, also if it is many small things', async () => {
  await using service = await startService([account(1, 'ann')])
  const kept = await keptReads(service.store)
  let reads = 0
  const ask = (count: number) =>
    kept.ofRecords(
      1,
      `small thing ${count}`,
      async () => (reads += 1),
      () => 0,
    )
  for (let count = 1; count <= 13_000; count += 1) await ask(count)
  await ask(13_000)
  assert.equal(reads, 13_000)
  await ask(1)
  assert.equal(reads, 13_001)
})

function outcomes(results: readonly PromiseSettledResult<number>[]) {
  return results.map(result => (result.status === 'fulfilled' ? result.value : (result.reason as Error).message))
}
