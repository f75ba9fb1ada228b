// engine: any
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { start } from '../support/command.ts'
import { newSqlite } from '../support/databases.ts'
import { isAlive, needsProc } from '../support/programs.ts'
import { ask, serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'
import { workersOf } from '../support/workers.ts'

test('workers that cannot listen end with code 2 and one message, and no process remains', async () => {
  const database = newSqlite()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const serving = (more: readonly string[], env: Record<string, string> = {}) =>
    start(['serve', '--workers', '2', '--database', database.url, ...more], { env })
  try {
    {
      await using command = serving(['--port', String(port)])
      const { code, stdout, stderr } = await command.ended
      assert.equal(stderr, `lockstep: port ${port} on 127.0.0.1 is taken: choose others with --host and --port\n`)
      assert.equal(code, 2)
      assert.equal(stdout, '')
    }
    {
      await using command = serving(['--port', '0'], { LOCKSTEP_METRICS_PORT: String(port) })
      const { code, stdout, stderr } = await command.ended
      assert.match(stderr, new RegExp(`^lockstep: port ${port} on 127.0.0.1 is taken: choose others for metrics.*\n$`))
      assert.equal(code, 2)
      assert.equal(stdout, '')
    }
  } finally {
    taken.close()
    await database.remove()
  }
})

test('workers end with the process that supervises them', needsProc, async () => {
  const database = newSqlite()
  await using service = await serve(database.url, { args: ['--workers', '2'] })
  const workers = workersOf(service)
  assert.equal(workers.length, 2)
  service.process.kill('SIGKILL')
  await service.ended
  await until(async () => !workers.some(isAlive))
  await database.remove()
})

for (const args of [[], ['--workers', '2']]) {
  test(
    `only SIGTERM and SIGINT end a service, and no signal opens a debugger: serve ${args.join(' ')}`,
    needsProc,
    async () => {
      const database = newSqlite()
      await using service = await serve(database.url, { args })
      const workers = args.length === 0 ? [] : workersOf(service)
      const signals = ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const
      for (const pid of workers) for (const signal of signals) process.kill(pid, signal)
      for (const signal of signals) if (signal !== 'SIGHUP' || args.length === 0) service.process.kill(signal)
      for (let times = 0; times < 5; times += 1) assert.equal((await ask(`${service.url}/healthz`)).status, 200)
      assert.deepEqual(args.length === 0 ? [] : workersOf(service), workers)
      service.process.kill('SIGTERM')
      const { code, stderr } = await service.ended
      // A signal that ends a process would be in place of the code, and in the log.
      assert.equal(code, 0)
      assert.doesNotMatch(stderr, /Debugger|exited/)
      await database.remove()
    },
  )
}
