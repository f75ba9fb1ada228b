// engine: both
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { connectSource, listRounds, readConnection } from '../../src/pull/connections.ts'
import { makeFolder } from '../support/command.ts'
import { allowSignIn, visitorAs } from '../support/dashboard.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { byOperator } from '../support/sources/pulls.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

const PAGES = 150

test('the pages of another account wait no longer while a source is pulled', async context => {
  await using folder = await makeFolder()
  const own = Array.from({ length: 300 }, (_, index) => trainingSession(100_000 + index, 2))
  await using made = await startService([account(1, 'ann'), account(2, 'ben'), ...own])
  const { store, databaseUrl } = made
  const secretFile = folder.file('secret')
  const config = { ...readConfig({ LOCKSTEP_SECRET_FILE: secretFile }), databaseUrl }
  const world = new SourceWorld().add(
    account(1, 'ann'),
    ...Array.from({ length: 20_000 }, (_, index) => trainingSession(index + 1, 1)),
  )
  await using source = await startSource({ world, identity: '/users/me' })
  await allowSignIn(made, 'ben')
  await using served = await serve(databaseUrl, {
    settings: {
      LOCKSTEP_SECRET_FILE: secretFile,
      LOCKSTEP_SOURCE_ORIGINS: source.url,
      LOCKSTEP_PULL_RATE: '0',
    },
  })
  const ben = await visitorAs(served.url, 'ben')
  const times = async (goesOn: () => Promise<boolean>) => {
    const taken: number[] = []
    while (taken.length < PAGES || (taken.length < 10 * PAGES && (await goesOn()))) {
      const start = performance.now()
      assert.equal((await ben.get('/training')).status, 200)
      taken.push(performance.now() - start)
    }
    return taken.toSorted((a, b) => a - b)
  }
  await times(async () => false)
  const without = await times(async () => false)
  await connectSource({ store, config }, 1, { origin: source.url, key: SOURCE_TOKEN, everyMinutes: 60 }, byOperator)
  await until(async () => (await readConnection(store, 1))?.state === 'running')
  const during = await times(async () => (await listRounds(store, 1)).length === 0)
  const isOver = (await listRounds(store, 1)).length > 0
  const [before, meanwhile] = [without, during].map(all => all[Math.floor(all.length * 0.99)] ?? 0)
  context.diagnostic(
    `p99 of ${without.length} pages without a pull ${before?.toFixed(1)} ms, of ${during.length} during one ${meanwhile?.toFixed(1)} ms (the pull ${isOver ? 'has' : 'has not'} ended)`,
  )
  // Half of the machine is busy with the pull and the source; only what blocks would take longer.
  assert.ok(Number(meanwhile) <= 20 * Number(before) + 50, `${before} ms, then ${meanwhile} ms`)
})
