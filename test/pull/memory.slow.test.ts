import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

// engine: sqlite

test('20,000 sessions are pulled in less than 150 MB, and an idle round takes at most 12 requests', async () => {
  const program = join(import.meta.dirname, '../../bench/pull.ts')
  // Without the bundles of the tests, which take memory of their own.
  const env = { ...process.env, NODE_OPTIONS: '' }
  const child = spawn(process.execPath, [program, '20000'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const said = await text(child.stdout)
  const [, megabytes] = /^first round: .*, (\d+) MB$/m.exec(said) ?? []
  const [, requests] = /^idle round: (\d+) requests/m.exec(said) ?? []
  assert.ok(Number(megabytes) < 150, said)
  assert.ok(Number(requests) <= 12, said)
})
