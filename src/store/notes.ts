import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Texts by name: what the service and its commands remember besides records. */

export async function readNote(db: Kysely<Tables>, name: string): Promise<string | undefined> {
  return (await db.selectFrom('note').select('value').where('name', '=', name).executeTakeFirst())?.value
}

/** Writes a note in place of the one with this name. */
export async function writeNote(db: Kysely<Tables>, name: string, value: string): Promise<void> {
  await db
    .insertInto('note')
    .values({ name, value })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/** Whether there was none with this name. One that another process has added meanwhile stays. */
export async function addNote(db: Kysely<Tables>, name: string, value: string): Promise<boolean> {
  const note = db.insertInto('note').values({ name, value })
  const { numInsertedOrUpdatedRows } = await note.onConflict(conflict => conflict.doNothing()).executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows !== 0n
}
