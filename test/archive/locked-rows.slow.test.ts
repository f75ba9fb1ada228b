// engine: any
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { bytesOf } from '../support/archives.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'
import { connect } from '../support/postgres.ts'
import { account, trainingSession, world } from '../support/records.ts'

const LOCKS = {
  'the row of an account that it renames': 'select 1 from account where id = 1 for update',
  'the row of an account of new records': 'select 1 from account where id = 3 for update',
  'a table': 'lock table training_session in share mode',
}

for (const [what, lock] of Object.entries(LOCKS)) {
  testOnEmptyPostgres(`an import that meets a lock on ${what} gives up`, async ({ url }) => {
    const store = await open(url, { busyTimeoutMs: 500 })
    const lines = (list: readonly object[]) => Readable.from([bytesOf(list)])
    await importArchive(store, lines(world))
    await using other = await connect(url)
    await other.query(`begin; ${lock}`)
    const archive = [account(1, 'anna'), trainingSession(1, 3)]
    const importing = importArchive(store, lines(archive), { onConflict: 'replace' })
    await assert.rejects(importing, {
      name: 'StoreBusyError',
      message: 'another transaction has locked what this one writes',
    })
    await other.query('rollback')
    assert.equal((await store.db.selectFrom('training_session').select('id').execute()).length, 0)
    // Nothing of it is left on the connection.
    await importArchive(store, lines(archive), { onConflict: 'replace' })
    assert.equal((await store.db.selectFrom('training_session').select('id').execute()).length, 1)
    await store.close()
  })
}
