// engine: sqlite
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
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
