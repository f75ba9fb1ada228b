// engine: any
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

test('the benchmark runs: it measures the service against the floor, without an unexpected response', async () => {
  const program = fileURLToPath(new URL('../../bench/run.ts', import.meta.url))
  const args = ['--rounds', '1', '--seconds', '1', '--accounts', '20', '--only', 'S1', '--defaults']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  for (const candidate of ['floor', 'SQLite', 'SQLite without limits']) {
    assert.match(stdout, new RegExp(`^\\| S1 one session \\| ${candidate} \\| \\d+ \\| \\d+\\.\\d\\d \\|`, 'm'))
  }
})

test('the depth benchmark runs', async () => {
  const program = fileURLToPath(new URL('../../bench/depth.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--rounds', '1', '--depth', '300'])
  assert.match(stdout, /^\| page after 300 rows, by cursor \| \d+\.\d\d ms \|/m)
})
