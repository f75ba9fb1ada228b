// engine: any
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newPostgres } from '../support/databases.ts'
import { sharedServer, testOnPostgres } from '../support/postgres.ts'

/** What a program writes. A busy machine would make the service refuse requests, as it then should. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, LOCKSTEP_OVERLOAD_LAG: '0' }
  return (await promisify(execFile)(process.execPath, [program, ...args], { env })).stdout
}

test('the benchmark runs: it measures the service against the floor, without an unexpected response', async () => {
  const program = fileURLToPath(new URL('../../bench/run.ts', import.meta.url))
  const args = ['--rounds', '1', '--seconds', '1', '--accounts', '20', '--only', 'session, hot', '--defaults']
  const stdout = await outputOf(program, args)
  assert.doesNotMatch(stdout, /unexpected responses/)
  for (const candidate of ['floor', 'SQLite', 'SQLite without limits']) {
    const row = new RegExp(`^\\| S1 one training session, hot \\| ${candidate} \\| \\d+ \\| \\d+\\.\\d\\d \\|`, 'm')
    assert.match(stdout, row)
  }
})

test('the check of the plan for many accounts runs: it predicts the cost of a load and measures it', async () => {
  const program = fileURLToPath(new URL('../../bench/plan.ts', import.meta.url))
  const sizes = ['--accounts', '60', '--few', '40', '--seconds', '2', '--costSeconds', '0.2']
  // How well it predicts depends on the machine.
  const load = ['--rate', '50', '--factor', '1000']
  const stdout = await outputOf(program, [...sizes, ...load])
  assert.match(stdout, /^\| CPU µs of a request \| \d+\.\d \| \d+\.\d \|/m)
  assert.match(stdout, /^\| refused \| 0 \| 0 \|/m)
})

testOnPostgres('the comparison of databases runs', async () => {
  const program = fileURLToPath(new URL('../../bench/databases.ts', import.meta.url))
  const { url } = await newPostgres((await sharedServer()).url)
  const sizes = ['--accounts', '10', '--seconds', '0.5', '--rounds', '1']
  const stdout = await outputOf(program, [...sizes, url])
  assert.match(stdout, /^\| S1 one training session \| \w+ \| \d+ \| \d+\.\d \| \d+\.\d \|/m)
})
