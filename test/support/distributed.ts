import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { importArchive, ImportError } from '../../src/archive/import.ts'
import type { Store } from '../../src/store/index.ts'
import { records } from './all-responses.ts'
import { lockDevice, lockSession, lockTemplate, makers, trainingSession, trainingTemplate } from './records.ts'
import { archiveOf } from './service.ts'

const docs = readFileSync(new URL('../../docs/citus.md', import.meta.url), 'utf8')

/** The tables that the docs distribute, and those they copy to every server. The others stay on one. */
export const distributed = [...docs.matchAll(/create_distributed_table\('(\w+)', 'owner_id'/g)].map(
  ([, name = '']) => name,
)
export const copied = [...docs.matchAll(/create_reference_table\('(\w+)'/g)].map(([, name = '']) => name)

/** Imports records into an empty store in every mode, including records that change their owner, and checks what is stored. */
export async function importInEveryMode(store: Store) {
  await importArchive(store, archiveOf(records))
  const again = await importArchive(store, archiveOf(records))
  assert.ok(again.kinds.every(({ added, replaced, skipped }) => added + replaced + skipped === 0))
  for (const make of makers) {
    await importArchive(store, archiveOf([make(20, 1)]))
    const taken = archiveOf([make(20, 3)])
    await assert.rejects(importArchive(store, taken), ImportError)
    await importArchive(store, archiveOf([make(20, 3)]), { onConflict: 'skip' })
    await importArchive(store, archiveOf([make(20, 2)]), { onConflict: 'replace' })
  }
  const changed = [
    lockTemplate(20, 2, { name: 'New' }),
    lockDevice(20, 2, { locked: true }),
    lockSession(20, 2, { lockState: 'abandoned' }),
    trainingTemplate(20, 2, { isActive: true }),
    trainingSession(20, 2, { passed: false }),
  ]
  const { kinds } = await importArchive(store, archiveOf(changed), { onConflict: 'replace' })
  const total = kinds.reduce((sum, { replaced }) => sum + replaced, 0)
  assert.equal(total, changed.length)
  for (const table of distributed) {
    const { rows } = await sql.raw(`select owner_id from ${table} where id = 20`).execute(store.db)
    assert.deepEqual(rows, [{ owner_id: 2 }], table)
  }
}
