// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLines } from '../../src/archive/lines.ts'
import { type PreviewOptions, previewImport } from '../../src/archive/preview.ts'
import { bytesOf, cut, type Line, openStore, type TestStore } from '../support/archives.ts'
import { lockDevice, lockSession, world } from '../support/records.ts'

function preview({ store }: TestStore, lines: readonly Line[], options?: PreviewOptions) {
  return previewImport(store, () => readLines(cut(bytesOf(lines), [])), options)
}

test('for one account, an id that belongs to the record of another is refused, and the reason says nothing of it', async () => {
  await using store = await openStore([...world, lockDevice(5, 2), lockSession(6, 2)])
  const before = await store.export(2)
  const lines = [lockDevice(5, 1), lockSession(6, 1)]
  const { rejected } = await preview(store, lines, { onlyAccount: 1 })
  assert.deepEqual(
    rejected.map(({ reason, count }) => [reason, count]),
    [['cannot be stored here', 2]],
  )
  const { errors } = await store.refuse(lines, { onlyAccount: 1, onConflict: 'replace' })
  const reasons = errors.map(({ reason }) => reason)
  assert.deepEqual(reasons, ['cannot be stored here', 'cannot be stored here'])
  assert.equal(await store.export(2), before)
})
