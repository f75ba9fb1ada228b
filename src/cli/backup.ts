import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { StoreError } from '../store/index.ts'
import { databaseOption, say, type StoreOptions, UsageError, withOptions, withStore } from './terminal.ts'

export function addBackupCommand(program: Command) {
  withOptions(program.command('backup').argument('<file>', 'path of the copy; must not exist'), databaseOption())
    .summary('copy the database while it is in use')
    .description('Copies the whole database, tokens and passwords included, while it is in use, and verifies the copy.')
    .action(async (file: string, flags: StoreOptions) => {
      if (existsSync(file)) throw new UsageError(`${file} exists: name a new file`)
      await withStore(flags, async store => {
        if (store.backup === undefined) throw new UsageError('use pg_dump to back up a PostgreSQL database')
        try {
          await store.backup(file)
        } catch (error) {
          if (!(error instanceof Error && 'code' in error)) throw error
          throw new StoreError(`no copy was made, ${file} cannot be written: ${error.message}`, { cause: error })
        }
      })
      say(`The copy is complete and verified: ${file}`)
    })
}
