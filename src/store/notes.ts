import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Texts by name: what the service and its commands remember besides records. */

export async function readNote(db: Kysely<Tables>, name: string): Promise<string | undefined> {
  return (await db.selectFrom('note').select('value').where('name', '=', name).executeTakeFirst())?.value
}

export async function writeNote(db: Kysely<Tables>, name: string, value: string): Promise<void> {
  await db
    .insertInto('note')
    .values({ name, value })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/** Adds a note. One that has this name already stays. */
export async function addNote(db: Kysely<Tables>, name: string, value: string): Promise<void> {
  const note = db.insertInto('note').values({ name, value })
  await note.onConflict(conflict => conflict.doNothing()).execute()
}
