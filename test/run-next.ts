import { on } from 'node:events'
import { suite, test } from 'node:test'
// oxlint-disable-next-line import/no-unassigned-import -- its hook belongs to all files
import './support/at-end.ts'

/** What `run-files.ts` runs: the files that are named to this process while it runs, until it is told that there are no more. */
test('files', async () => {
  // One that hangs is reported by its name.
  const timeout = Number(process.env['TEST_LIMIT_MINUTES']) * 60_000
  for await (const [file] of on(process, 'message')) {
    if (typeof file !== 'string') return
    await suite(file, { timeout }, async () => void (await import(`./${file}`)))
  }
})
