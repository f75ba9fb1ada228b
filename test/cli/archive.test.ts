// engine: sqlite
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Folder, makeFolder, type Running } from '../support/command.ts'
import { account, lockDevice, trainingSession, world, lockTemplate } from '../support/records.ts'

/** What an import says apart from what to do after the first one. */
const withoutNextSteps = (stderr: string) => stderr.split('\nNext, ')[0]

test('several archives are imported in turn, and a table for each shows what happened to its records', async () => {
  await using folder = await makeFolder()
  writeArchive(folder, 'people.ndjson', world)
  writeArchive(folder, 'records.ndjson', [lockDevice(1, 1), lockDevice(2, 2), trainingSession(3, 1)])
  const first = await folder.launch(['import', 'people.ndjson', 'records.ndjson'])
  assert.deepEqual(first, {
    code: 0,
    stderr: `
Next, choose a password, and start the service unless it runs:
  ./lockstep account set-password --account 'ann'
  ./lockstep serve
Then sign in at http://127.0.0.1:5625/signin
`,
    stdout: `kind         added  replaced  unchanged  skipped
account      3      0         0          0
partnership  1      0         0          0
kind              added  replaced  unchanged  skipped
lock-device       2      0         0          0
training-session  1      0         0          0
`,
  })
  const again = await folder.succeeds(['import', 'records.ndjson', '--json'])
  const report = JSON.parse(again.stdout) as { file: string; kinds: { kind: string }[] }
  assert.equal(report.file, 'records.ndjson')
  assert.deepEqual(
    report.kinds.find(({ kind }) => kind === 'lock-device'),
    { kind: 'lock-device', added: 0, replaced: 0, skipped: 0, unchanged: 2 },
  )
})

test('unfinished sessions and unknown fields are reported on stderr', async () => {
  await using folder = await makeFolder()
  const input = lines([
    account(1, 'ann', { shoeSize: 43 }),
    trainingSession(5, 1, { passed: null }),
    trainingSession(6, 1),
    lockDevice(7, 1, { shoeSize: 1 }),
    { kind: 'end', data: { lines: 4 } },
  ])
  const { stdout, stderr } = await folder.succeeds(['import', '-'], { input })
  assert.match(stdout, /^training-session +1 +0 +0 +1$/m, 'the one that is not finished is counted as skipped')
  assert.equal(
    withoutNextSteps(stderr),
    `line 2: training session 5 is not finished, not stored
account: unknown field shoeSize kept as an extra field (in 1 record)
lock-device: unknown field shoeSize kept as an extra field (in 1 record)
`,
  )
  const alone = await folder.succeeds(['import', '-'], { input: lines([trainingSession(5, 1, { passed: null })]) })
  assert.match(alone.stdout, /^training-session +0 +0 +0 +1$/m)
  const json = await folder.run(['import', '-', '--json'], { input: lines([trainingSession(5, 1, { passed: null })]) })
  const { kinds } = JSON.parse(json.stdout) as { kinds: { kind: string; skipped: number }[] }
  assert.equal(kinds.find(({ kind }) => kind === 'training-session')?.skipped, 1)
})

test('nothing of an archive with errors is stored; each error names its line and reason, never the value', async () => {
  await using folder = await makeFolder()
  writeArchive(folder, 'good.ndjson', world)
  writeFileSync(
    folder.file('bad.ndjson'),
    `${lines([lockDevice(1, 1), lockDevice(2, 99), lockDevice(3, 1, { locked: 'SECRET' })])}\n{"kind":"SECRET"}\n{SECRET\n`,
  )
  writeArchive(folder, 'later.ndjson', [lockDevice(4, 1)])
  const { code, stdout, stderr } = await folder.launch(['import', 'good.ndjson', 'bad.ndjson', 'later.ndjson'])
  assert.equal(code, 1)
  assert.match(stdout, /^account +3/m)
  assert.doesNotMatch(stdout, /lock-device/)
  assert.match(stderr, /^bad\.ndjson: line 3: locked must be true or false$/m)
  assert.match(stderr, /^bad\.ndjson: line 4: kind must be one of account, partnership, /m)
  assert.match(stderr, /^bad\.ndjson: line 5: is not valid JSON$/m)
  assert.match(stderr, /^not read: later\.ndjson\nlockstep: the file has \d errors, so nothing of it is stored$/m)
  assert.doesNotMatch(stderr, /SECRET/)
  assert.doesNotMatch((await folder.run(['export'])).stdout, /lock-device/)
})

test('export piped into import makes an equal store, also for one account with its own rows', async () => {
  await using folder = await makeFolder()
  writeArchive(folder, 'all.ndjson', [...world, lockDevice(1, 1), trainingSession(2, 1), trainingSession(3, 2)])
  await folder.run(['import', 'all.ndjson'])
  const { code, stderr } = await folder.shell(
    `"$0" export | "$0" import - --database sqlite:copy.db && "$0" export > a && "$0" export --database sqlite:copy.db > b && cmp a b`,
  )
  assert.equal(withoutNextSteps(stderr), '')
  assert.equal(code, 0)

  const [byName, byId] = [
    await folder.run(['export', '--account', 'ann']),
    await folder.run(['export', '--account', '1']),
  ]
  assert.equal(byName.stdout, byId.stdout)
  assert.deepEqual(
    [...byId.stdout.matchAll(/"ownerId":(\d)/g)].map(([, id]) => id),
    ['1', '1'],
  )
  const nobody = await folder.run(['export', '--account', 'dan'])
  assert.deepEqual([nobody.code, nobody.stdout], [1, ''])
})

test('export --out writes a file that only its owner can read, or none', async () => {
  await using folder = await makeFolder()
  writeArchive(folder, 'all.ndjson', [...world, trainingSession(2, 1)])
  await folder.run(['import', 'all.ndjson'])
  const { code, stdout, stderr } = await folder.run(['export', '--out', 'history.ndjson'])
  assert.deepEqual([code, stdout, stderr], [0, '', ''])
  assert.equal(readFileSync(folder.file('history.ndjson'), 'utf8'), (await folder.run(['export'])).stdout)
  assert.equal(statSync(folder.file('history.ndjson')).mode & 0o777, 0o600)
  for (const out of ['nowhere/history.ndjson', '.']) assert.equal((await folder.run(['export', '--out', out])).code, 2)
  const { code: full } = await folder.shell('ulimit -f 1; trap "" XFSZ; "$0" export --out cut.ndjson')
  assert.notEqual(full, 0)
  assert.deepEqual(readdirSync(folder.path).toSorted(), ['all.ndjson', 'data', 'history.ndjson'])
})

test('an export ends without an error when its reader closes the pipe', async () => {
  await using folder = await makeFolder()
  writeArchive(folder, 'many.ndjson', [account(1, 'ann'), ...sessions(3000)])
  await folder.run(['import', 'many.ndjson'])
  const { stdout, stderr } = await folder.shell(`{ "$0" export; echo "ended with $?" >&2; } | head -1`)
  assert.equal((JSON.parse(stdout) as { kind: string }).kind, 'account')
  assert.equal(stderr, 'ended with 0\n')
})

test('an export to a full disk says so', async t => {
  if (!existsSync('/dev/full')) return t.skip('this system has no /dev/full')
  await using folder = await makeFolder()
  await folder.run(['import', '-'], { input: lines([account(1, 'ann')]) })
  const { code, stderr } = await folder.shell('"$0" export > /dev/full')
  assert.deepEqual(
    [code, stderr],
    [3, 'lockstep: the output cannot be written: ENOSPC: no space left on device, write\n'],
  )
})

test('an import that waits for stdin can be interrupted', async () => {
  await using folder = await makeFolder()
  await folder.run(['import', '-'], { input: lines([account(1, 'ann')]) })
  await using running = folder.start(['import', '-'])
  // More than a pipe holds: when all is written, much of it was read. The pipe stays open.
  await new Promise(resolve => running.process.stdin?.write(`${lines(sessions(2000))}\n`, resolve))
  running.process.kill('SIGINT')
  await assertInterrupted(folder, running)
})

async function assertInterrupted(folder: Folder, running: Running) {
  const { code, stdout, stderr } = await running.ended
  assert.match(stderr, /interrupted: nothing of this archive was stored/)
  assert.equal(stdout, '')
  assert.equal(code, 130)
  const exported = await folder.run(['export'])
  assert.equal(exported.stdout.trimEnd().split('\n').length, 2, 'only the account and the end')
}

function sessions(count: number): object[] {
  return Array.from({ length: count }, (_, index) => trainingSession(index + 1, 1))
}

function writeArchive(folder: Folder, name: string, records: readonly object[]) {
  const end = { kind: 'end', data: { lines: records.length } }
  writeFileSync(folder.file(name), `${lines([...records, end])}\n`)
}

function lines(records: readonly object[]): string {
  return records.map(record => JSON.stringify(record)).join('\n')
}

test('rejected rows are listed with the reason, shown as they came, and stored when nothing is in their way', async () => {
  await using folder = await makeFolder()
  const odd = JSON.stringify(trainingSession(4, 1, { passed: 'yes' }))
  const early = JSON.stringify(lockTemplate(5, 9))
  const input = [JSON.stringify(account(1, 'ann')), odd, early, ''].join('\n')
  const imported = await folder.run(['import', '-', '--on-error', 'set-aside'], { input })
  assert.equal(imported.code, 1, imported.stderr)

  const table = await folder.run(['rejected', 'list'])
  assert.match(table.stdout, /training-session +4 +\d+ +passed must be true or false/)
  const rows: { id: number; kind: string; recordId: number; accountId: number | null }[] = JSON.parse(
    (await folder.run(['rejected', 'list', '--json'])).stdout,
  )
  const byKind = new Map(rows.map(row => [row.kind, row]))
  assert.deepEqual([...byKind.keys()].toSorted(), ['lock-template', 'training-session'])
  assert.deepEqual([byKind.get('training-session')?.recordId, byKind.get('training-session')?.accountId], [4, 1])

  const id = String(byKind.get('training-session')?.id)
  const shown = await folder.run(['rejected', 'show', id])
  assert.deepEqual([shown.code, shown.stdout, shown.stderr], [0, `${odd}\n`, 'passed must be true or false\n'])
  const unknown = await folder.run(['rejected', 'show', '999'])
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /there is no such row: see `lockstep rejected list`/)
  for (const word of ['x', '0', '-1']) assert.equal((await folder.run(['rejected', 'show', word])).code, 2)

  const inVain = await folder.run(['rejected', 'retry'])
  assert.deepEqual([inVain.code, inVain.stdout], [1, '0 of 2 rows are stored now; 2 stay rejected.\n'])
  await folder.succeeds(['account', 'add', '--username', 'eve', '--id', '9'])
  const retried = await folder.run(['rejected', 'retry'])
  assert.deepEqual([retried.code, retried.stdout], [0, '1 of 2 rows are stored now; 1 stays rejected.\n'])
  assert.match((await folder.run(['export'])).stdout, /"kind":"lock-template","data":\{"id":5/)
  assert.doesNotMatch((await folder.run(['rejected', 'list'])).stdout, /lock-template/)
})

test('bytes that are no text are shown in base64', async () => {
  await using folder = await makeFolder()
  await folder.run(['import', '-', '--on-error', 'set-aside'], { input: '{"kind":"\0"}\n' })
  const [row] = JSON.parse((await folder.run(['rejected', 'list', '--json'])).stdout)
  const shown = await folder.run(['rejected', 'show', String(row.id)])
  assert.equal(Buffer.from(shown.stdout, 'base64').toString(), '{"kind":"\0"}')
  assert.match(shown.stderr, /\(shown in base64\)/)
})
