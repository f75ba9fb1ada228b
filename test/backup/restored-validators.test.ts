// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService } from '../support/service.ts'

const MINUTE_MS = 60_000

/** How far the clock is off when the records are stored, when they change, and when they change again after a restore. */
const clocks: readonly { title: string; stored: number; changed: number; changedAgain: number }[] = [
  { title: 'standing still', stored: 0, changed: 0, changedAgain: 0 },
  { title: 'ahead while the records were stored', stored: MINUTE_MS, changed: 0, changedAgain: 0 },
  { title: 'set back before the records changed', stored: 0, changed: -MINUTE_MS, changedAgain: -MINUTE_MS },
]

for (const { title, stored, changed, changedAgain } of clocks) {
  test(`after a restore no list is taken for one from before it, with a clock that was ${title}`, async t => {
    await using folder = await makeFolder()
    await folder.succeeds(['migrate'])
    const now = Date.now()
    /** Imports lines at a time; then returns the answer to a list, asked with a validator. */
    const importAt = async (time: number, lines: readonly object[], validator = '"none"') => {
      await using service = await startService([], {}, folder)
      t.mock.timers.enable({ apis: ['Date'], now: now + time })
      await service.import(lines)
      t.mock.timers.reset()
      return await service.fetch('/api/v1/dtt/sessions', await service.token('ann'), { 'If-None-Match': validator })
    }
    await importAt(stored, [account(1, 'ann'), trainingSession(1, 1)])
    await folder.succeeds(['backup', 'backup.db'])
    const before = await importAt(changed, [trainingSession(2, 1)])
    const etag = before.headers.get('ETag') ?? ''
    await folder.succeeds(['restore', 'backup.db', '--force'])
    const after = await importAt(changedAgain, [trainingSession(3, 1)], etag)
    assert.equal(after.status, 200)
    assert.notEqual(after.headers.get('ETag'), etag)
  })
}
