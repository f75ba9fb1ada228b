import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'

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
