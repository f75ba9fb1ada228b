import type { Store } from '../store/index.ts'
import { writeNote } from '../store/notes.ts'

/** The times of backups and checks, in milliseconds since 1970, stored in the database for the metrics. */

export async function recordBackup(store: Store, { madeAt, bytes }: { madeAt: number; bytes: number }) {
  await store.db.transaction().execute(async db => {
    await writeNote(db, MADE_AT, String(madeAt))
    await writeNote(db, BYTES, String(bytes))
  })
}

export async function recordCheck(store: Store, checkedAt: number) {
  await writeNote(store.db, CHECKED_AT, String(checkedAt))
}

export async function readBackupFacts({ reads }: Store) {
  const rows = await reads.selectFrom('note').selectAll().where('name', 'in', [MADE_AT, BYTES, CHECKED_AT]).execute()
  const valueOf = (wanted: string) => {
    const row = rows.find(({ name }) => name === wanted)
    return row === undefined ? undefined : Number(row.value)
  }
  return { madeAt: valueOf(MADE_AT), bytes: valueOf(BYTES), checkedAt: valueOf(CHECKED_AT) }
}

/** Of the last backup. */
const MADE_AT = 'backup made at'
const BYTES = 'backup bytes'
/** When a backup last passed its check. */
const CHECKED_AT = 'backup checked at'
