// engine: sqlite
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { truncateSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { sha256Of, sha256Without } from '../../src/backup/files.ts'
import { makeFolder } from '../support/command.ts'

const CHUNK_BYTES = 64 * 1024
const text = 'a'.repeat(64)

test('the digest of a file leaves out a text wherever it stands', async () => {
  await using folder = await makeFolder()
  const file = folder.file('file')
  for (const [before, after] of [
    [0, 0],
    [36, 10],
    [CHUNK_BYTES - 30, 100],
    [2 * CHUNK_BYTES - 64, 0],
    [3 * CHUNK_BYTES, CHUNK_BYTES],
  ] as const) {
    writeFileSync(file, `${'x'.repeat(before)}${text}${'y'.repeat(after)}`)
    assert.deepEqual(await sha256Without(file, text), {
      digest: hash('sha256', `${'x'.repeat(before)}${'0'.repeat(64)}${'y'.repeat(after)}`),
      position: before,
    })
    const digest = await sha256Of(file)
    assert.deepEqual(await sha256Without(file, 'b'.repeat(64)), { digest, position: -1 })
  }
})

test('the digest of a large file takes little memory', async t => {
  await using folder = await makeFolder()
  const file = folder.file('file')
  writeFileSync(file, '')
  truncateSync(file, 192 * 1024 * 1024)
  const before = process.memoryUsage().external
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().external - before)), 1)
  await sha256Without(file, text)
  clearInterval(watch)
  t.diagnostic(`${Math.round(most / 1e6)} MB`)
  assert.ok(most < 16_000_000)
})
