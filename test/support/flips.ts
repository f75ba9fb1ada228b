import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { writeBackup } from '../../src/backup/create.ts'
import { isRefusal } from '../../src/contract/refusal.ts'
import { openVerified } from '../../src/backup/verify.ts'
import { open } from '../../src/store/index.ts'
import { newSqlite } from './databases.ts'
import { fillEveryTable } from './every-table.ts'

/** Changes a byte of a file; doing it again undoes it. */
export function flip(path: string, position: number) {
  const bytes = readFileSync(path)
  bytes[position] = (bytes[position] ?? 0) ^ 0x20
  writeFileSync(path, bytes)
}

/** Flips a byte at so many places of a plain and of an encrypted backup: each must be refused. */
export async function flipEverywhere(places: number) {
  const database = newSqlite()
  const workFolder = dirname(database.url.slice('sqlite:'.length))
  const file = (name: string) => join(workFolder, name)
  const store = await open(database.url, { busyTimeoutMs: 1000 })
  try {
    await fillEveryTable(store)
    const identity = await generateIdentity()
    const databaseUrl = database.url
    await writeBackup(store, file('plain'), { databaseUrl })
    await writeBackup(store, file('encrypted'), { databaseUrl, recipients: [await identityToRecipient(identity)] })
    for (const name of ['plain', 'encrypted']) {
      const verify = async () => (await openVerified(file('bad'), { identities: [identity], workFolder })).close()
      copyFileSync(file(name), file('bad'))
      await verify()
      const { length } = readFileSync(file(name))
      for (let place = 0; place < places; place += 1) {
        const position = Math.floor(((place + 0.5) * length) / places)
        flip(file('bad'), position)
        await assert.rejects(
          verify,
          error => isRefusal(error, 'no-backup', 'wrong-identity'),
          `${name}: byte ${position} of ${length}`,
        )
        flip(file('bad'), position)
      }
    }
  } finally {
    await store.close()
    await database.remove()
  }
}
