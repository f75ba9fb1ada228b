// engine: both
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../src/config.ts'
import { connectSource, listRounds } from '../../src/pull/connections.ts'
import { makeFolder } from '../support/command.ts'
import { needsProc } from '../support/programs.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

/** Longer than a service waits until it looks again what is due. */
const WATCHED_MS = 25_000
/** 1 % of the time. */
const MAX_USED_MS = WATCHED_MS / 100

test('a source that is not due costs the service at most one hundredth of a processor', needsProc, async context => {
  await using folder = await makeFolder()
  await using made = await startService([account(1, 'ann')])
  const secretFile = folder.file('secret')
  const config = { ...readConfig({ LOCKSTEP_SECRET_FILE: secretFile }), databaseUrl: made.databaseUrl }
  const world = new SourceWorld().add(account(1, 'ann'), trainingSession(1, 1))
  await using source = await startSource({ world, identity: '/users/me' })
  await using served = await serve(made.databaseUrl, {
    settings: { LOCKSTEP_SECRET_FILE: secretFile, LOCKSTEP_SOURCE_ORIGINS: source.url, LOCKSTEP_PULL_RATE: '0' },
  })
  await connectSource({ store: made.store, config }, 1, { origin: source.url, key: SOURCE_TOKEN, everyMinutes: 60 })
  await until(async () => (await listRounds(made.store, 1)).length === 1)
  // What ran at the start has ended, too.
  await sleep(5000)

  const [requests, before] = [source.requests.length, usedMs(served.process.pid)]
  await sleep(WATCHED_MS)
  const used = usedMs(served.process.pid) - before
  context.diagnostic(`${used} ms of a processor in ${WATCHED_MS} ms`)
  assert.equal(source.requests.length, requests)
  assert.ok(used <= MAX_USED_MS, `${used} ms`)
})

/** The time of a processor that a process has used, with that of the children it waited for: fields 14 to 17 of proc_pid_stat(5), in 1/100 s. */
function usedMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
}
