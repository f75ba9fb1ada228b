// engine: sqlite
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { importArchive } from '../../src/archive/import.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { largeArchive } from '../support/memory-worker.ts'
import { needsProc } from '../support/programs.ts'

test('backups of any size are made, checked and restored in less than 200 MB of memory', needsProc, async t => {
  await using folder = await makeFolder()
  const store = await folder.store()
  await importArchive(store, largeArchive(40_000))
  await store.close()
  const identity = await generateIdentity()
  writeFileSync(folder.file('key.txt'), identity)
  const key = ['--identity', 'key.txt']
  for (const args of [
    ['backup', 'copy.db'],
    ['backup', 'check', 'copy.db', '--full'],
    ['backup', 'copy.db.age', '--recipient', await identityToRecipient(identity)],
    ['restore', 'copy.db.age', ...key, '--database', 'sqlite:restored.db'],
    ['move', '--to', 'sqlite:moved.db'],
  ]) {
    const megabytes = await peakOf(folder, args)
    t.diagnostic(`${args[0]} ${args[1]}: ${megabytes} MB`)
    assert.ok(megabytes < 200, `${args.join(' ')}: ${megabytes} MB`)
  }
  // Rows that were kept in memory would not fit.
  assert.ok(statSync(folder.file('copy.db')).size > 100e6, `${statSync(folder.file('copy.db')).size} bytes`)
})

/** Runs a command, and returns the most memory that it took. */
async function peakOf(folder: Folder, args: readonly string[]): Promise<number> {
  await using running = folder.start(args)
  let kilobytes = 0
  while (running.process.exitCode === null) {
    const status = readFileSync(`/proc/${running.process.pid}/status`, 'utf8')
    // A process that has ended has none.
    kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? kilobytes)
    await sleep(5)
  }
  const { code, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  return Math.round(kilobytes / 1024)
}
