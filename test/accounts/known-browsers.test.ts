import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endSessions } from '../../src/accounts/browser-sessions.ts'
import { knownBrowser, markBrowser } from '../../src/accounts/known-browsers.ts'
import { type Folder, makeFolder } from '../support/command.ts'

test('a restore forgets all known browsers, and no later sign-out makes one of them known again', async () => {
  await using folder = await makeFolder()
  await folder.succeeds(['account', 'add', '--username', 'ann'])
  const before = await inStore(folder, store => markBrowser(store, 1))
  await folder.succeeds(['backup', 'backup.db'])
  const after = await inStore(folder, async store => {
    await endSessions(store.db, 1)
    const mark = await markBrowser(store, 1)
    assert.equal((await knownBrowser(store, mark))?.username, 'ann')
    assert.equal(await knownBrowser(store, before), undefined)
    return mark
  })

  await folder.succeeds(['restore', 'backup.db', '--force'])
  await inStore(folder, async store => {
    const marks = [before, after]
    for (const mark of marks) assert.equal(await knownBrowser(store, mark), undefined)
    await endSessions(store.db, 1)
    for (const mark of marks) assert.equal(await knownBrowser(store, mark), undefined)
  })
})

async function inStore<Result>(folder: Folder, work: (store: Awaited<ReturnType<Folder['store']>>) => Promise<Result>) {
  await using store = await folder.store()
  return await work(store)
}
