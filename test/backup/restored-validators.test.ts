// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService } from '../support/service.ts'

test('after a restore no list is taken for one from before it', async () => {
  await using folder = await makeFolder()
  await folder.succeeds(['migrate'])
  /** Imports lines; then returns the answer to a list, asked with a validator. */
  const importLines = async (lines: readonly object[], validator = '"none"') => {
    await using service = await startService([], {}, folder)
    await service.import(lines)
    return await service.fetch('/api/v1/dtt/sessions', await service.token('ann'), { 'If-None-Match': validator })
  }
  await importLines([account(1, 'ann'), trainingSession(1, 1)])
  await folder.succeeds(['backup', 'backup.db'])
  const before = await importLines([trainingSession(2, 1)])
  const etag = before.headers.get('ETag') ?? ''
  await folder.succeeds(['restore', 'backup.db', '--force'])
  const after = await importLines([trainingSession(3, 1)], etag)
  assert.equal(after.status, 200)
  assert.notEqual(after.headers.get('ETag'), etag)
})
