import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type Folder, makeFolder } from '../support/command.ts'
import { emptyPostgres } from '../support/engines.ts'
import { testOnPostgres } from '../support/postgres.ts'
import { lockTemplate, trainingSession } from '../support/records.ts'

// engine: any

/** A session on the command line, in order. */
const commands: readonly { readonly args: string; readonly code?: number }[] = [
  { args: 'migrate' },
  { args: 'account add --username ann' },
  { args: 'account add --username ben --id 3000000000 --tier none' },
  { args: 'account add --username ben', code: 1 },
  { args: 'account set-tier --account ben --tier founder --until 2099-01-01' },
  { args: 'access add --owner ann --partner ben' },
  { args: 'import archive.ndjson --json' },
  { args: 'import other.ndjson', code: 1 },
  { args: 'import other.ndjson --on-conflict replace' },
  { args: 'import wrong.ndjson', code: 1 },
  { args: 'key create --account ann --name first --expires 2099-01-01' },
  { args: 'key revoke 1' },
  { args: 'key list --json' },
  { args: 'access list --json' },
  { args: 'export' },
  { args: 'account remove --account ben --yes' },
  { args: 'account list' },
]

testOnPostgres('the command line prints the same on both engines', async t => {
  const empty = await emptyPostgres()
  await using folder = await makeFolder()
  const write = (name: string, lines: readonly (object | string)[]) => {
    writeFileSync(
      folder.file(name),
      lines.map(line => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
    )
  }
  write('archive.ndjson', [trainingSession(1, 1), lockTemplate(2, 3_000_000_000)])
  write('other.ndjson', [trainingSession(1, 1, { name: 'other' }), trainingSession(2, 1)])
  write('wrong.ndjson', ['{}', trainingSession(3, 77)])
  try {
    for (const { args, code = 0 } of commands) {
      await t.test(args, async () => {
        const [sqlite, postgres] = await Promise.all([
          ended(folder, args, 'sqlite:own.db'),
          ended(folder, args, empty.url),
        ])
        assert.equal(sqlite.code, code, sqlite.stderr)
        assert.deepEqual(postgres, sqlite)
      })
    }
  } finally {
    await empty.remove()
  }
})

testOnPostgres('the demo runs on PostgreSQL', async () => {
  const empty = await emptyPostgres()
  await using folder = await makeFolder()
  {
    await using demo = folder.start(['demo', '--port', '0', '--database', empty.url])
    const [, url = ''] = await demo.says(/sample data: (\S+)/)
    const [, token = ''] = await demo.says(/API key: +(\S+)/)
    const found = await fetch(`${url}/api/v1/dtt/sessions/latest`, { headers: { Authorization: `Bearer ${token}` } })
    assert.equal(found.status, 200)
    demo.process.kill('SIGTERM')
    assert.equal((await demo.ended).code, 0)
  }
  await empty.remove()
})

async function ended(folder: Folder, args: string, database: string) {
  const { code, stdout, stderr } = await folder.run([...args.split(' '), '--database', database])
  const steady = (text: string) =>
    text
      .replaceAll(/lks_[0-9A-Za-z]{36}/g, '<token>')
      .replaceAll(/"last4": "\w{4}"/g, '<last 4>')
      .replaceAll(/20[0-9]{2}-[0-9-]{5}T[0-9:.]+Z/g, time => (time.startsWith('2099') ? time : '<time>'))
  return { code, stdout: steady(stdout), stderr: steady(stderr) }
}
