// engine: sqlite
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'

// A second on the machines of docs/performance.md. Processor time, and its ratio to that of an empty program, depend neither on
// the machine nor on what else it does.
const MAX_RATIO = 80

test('the service starts and responds in no more processor time than 80 empty programs take', async t => {
  const ratios: number[] = []
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await using folder = await makeFolder()
    const before = performance.now()
    // From a checkout, without bundles.
    const env = { NODE_DISABLE_COMPILE_CACHE: '1', NODE_OPTIONS: '' }
    await using running = folder.start(['serve', '--port', '0'], { env })
    const [, url = ''] = await running.says(/^Listening on (http:\/\/127\.0\.0\.1:\d+)\n$/)
    assert.equal((await fetch(`${url}/api/v1/me`)).status, 401)
    const wall = performance.now() - before
    const processor = processorTimeOf(running.process.pid ?? 0)
    ratios.push(processor / emptyProgram())
    t.diagnostic(
      `from start to first response, on an empty store: ${Math.round(wall)} ms, ${processor} ms of processor`,
    )
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
  }
  assert.ok(Math.min(...ratios) < MAX_RATIO, `${ratios.join()} times an empty program`)
})

/** In milliseconds, of all threads. */
function processorTimeOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  // Of the state on: user and system time are in hundredths of a second.
  const [user, system] = fields.split(' ').slice(11, 13)
  return (Number(user) + Number(system)) * 10
}

/** The processor time of a program that does nothing, in milliseconds. */
function emptyProgram(): number {
  const code = 'const { user, system } = process.cpuUsage(); console.log((user + system) / 1000)'
  const times = [1, 2, 3].map(() => Number(spawnSync(process.execPath, ['--eval', code], { encoding: 'utf8' }).stdout))
  return Math.min(...times)
}
