import type { Store } from '../store/index.ts'
import { writeNote } from '../store/notes.ts'

/** The times of backups and checks, stored in the database for the metrics. */
interface BackupFacts {
  /** When the last backup was made, in milliseconds since 1970. */
  readonly madeAt: number | undefined
  readonly bytes: number | undefined
  /** When a backup last passed its check. */
  readonly checkedAt: number | undefined
}

export async function recordBackup(store: Store, { madeAt, bytes }: { madeAt: number; bytes: number }) {
  await store.db.transaction().execute(async db => {
    await writeNote(db, MADE_AT, String(madeAt))
    await writeNote(db, BYTES, String(bytes))
  })
}

export async function recordCheck(store: Store, checkedAt: number) {
  await writeNote(store.db, CHECKED_AT, String(checkedAt))
}

export async function readBackupFacts({ reads }: Store): Promise<BackupFacts> {
  const rows = await reads.selectFrom('note').selectAll().where('name', 'in', [MADE_AT, BYTES, CHECKED_AT]).execute()
  const valueOf = (wanted: string) => {
    const row = rows.find(({ name }) => name === wanted)
    return row === undefined ? undefined : Number(row.value)
  }
  return { madeAt: valueOf(MADE_AT), bytes: valueOf(BYTES), checkedAt: valueOf(CHECKED_AT) }
}

const MADE_AT = 'backup made at'
const BYTES = 'backup bytes'
const CHECKED_AT = 'backup checked at'
