// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { UploadFolder } from '../../src/uploads/folder.ts'
import { runUploadOrder } from '../../src/uploads/run.ts'
import { openStore } from '../support/archives.ts'
import { makeFolder } from '../support/command.ts'
import { trainingSession, world } from '../support/records.ts'

for (const [work, what, idOf] of [
  ['check', 'its records', (index: number) => index + 1],
  ['check', 'lines of one record', () => 1],
  ['store', 'its records', (index: number) => index + 1],
] as const) {
  test(`to ${work} a file shows progress while ${what} are compared, not only while it is read`, async () => {
    await using store = await openStore(world)
    await using folder = await makeFolder()
    const config = { ...readConfig({}), databaseUrl: folder.databaseUrl }
    const uploads = new UploadFolder(config.databaseUrl)
    const records = Array.from({ length: 40 }, (_, index) => trainingSession(idOf(index), 1))
    mkdirSync(join(uploads.path, 'a'), { recursive: true })
    writeFileSync(join(uploads.path, 'a', '0'), records.map(record => `${JSON.stringify(record)}\n`).join(''))
    const order = { work, storeUrl: '', quota: config, accountId: 1, id: 'a', answers: {} }
    let signs = 0
    await store.store.db
      .insertInto('upload')
      .values({
        account_id: 1,
        id: 'a',
        name: 'a',
        state: work === 'check' ? 'checking' : 'storing',
        received_at: 0,
        bytes: 1,
        host: '',
        report: null,
        failure: null,
      })
      .execute()
    await runUploadOrder(store.store, order, () => (signs += 1))
    const { state } = await store.store.db.selectFrom('upload').select('state').executeTakeFirstOrThrow()
    assert.equal(state, work === 'check' ? 'ready' : 'stored')
    assert.ok(signs >= records.length, `${signs} signs`)
  })
}

const unread = {
  'a saved response that is too long': [`[{"a":"${'x'.repeat(18_000_000)}"}]`, /more than 16 MiB: save its records/],
  'lines that are no records': [`{}\n${'x\n'.repeat(200_000)}`, /more than 100,000 of its lines are no records/],
} as const

for (const [what, [content, says]] of Object.entries(unread)) {
  test(`${what}: a check ends in a sentence before the end of the file`, async () => {
    await using store = await openStore(world)
    await using folder = await makeFolder()
    const config = { ...readConfig({}), databaseUrl: folder.databaseUrl }
    const uploads = new UploadFolder(config.databaseUrl)
    mkdirSync(join(uploads.path, 'a'), { recursive: true })
    writeFileSync(join(uploads.path, 'a', '0'), content)
    const values = { account_id: 1, id: 'a', name: 'a', state: 'checking', received_at: 0, bytes: 1, host: '' } as const
    await store.store.db
      .insertInto('upload')
      .values({ ...values, report: null, failure: null })
      .execute()
    const order = { work: 'check', storeUrl: '', quota: config, accountId: 1, id: 'a', answers: {} } as const
    await runUploadOrder(store.store, order, () => {})
    const { state, report } = await store.store.db.selectFrom('upload').selectAll().executeTakeFirstOrThrow()
    assert.equal(state, 'failed')
    assert.match(report ?? '', says)
  })
}
