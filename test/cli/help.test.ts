import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from '../support/command.ts'

/** Every command, and the options and arguments that the contract gives it. */
const commands: Readonly<Record<string, readonly string[]>> = {
  serve: ['--host', '--port', '--workers', '--no-migrate', '--database'],
  migrate: ['--database'],
  demo: ['--reset', '--port', '--database'],
  import: ['file', '--on-conflict', '--database', '--json'],
  export: ['--account', '--database'],
  backup: ['file', '--database'],
  'account add': ['--username', '--id', '--tier', '--database', '--json'],
  'account list': ['--database', '--json'],
  'account set-tier': ['--account', '--tier', '--until', '--database'],
  'account set-password': ['--account', '--database'],
  'account remove': ['--account', '--yes', '--database'],
  'link add': ['--owner', '--partner', '--database'],
  'link remove': ['--owner', '--partner', '--database'],
  'link list': ['--database', '--json'],
  'token create': ['--account', '--name', '--scope', '--expires', '--database'],
  'token list': ['--account', '--database', '--json'],
  'token revoke': ['id', '--database'],
}

test('every command has a help that describes it and each of its options, on stdout', async t => {
  const found = await findCommands([])
  assert.deepEqual([...found.keys()].toSorted(), Object.keys(commands).toSorted())
  for (const [command, help] of found) {
    await t.test(command, () => {
      assert.match(help, /^Usage: lockstep .*\n\n[A-Z][^]*?\.\n/, 'a usage line and sentences')
      const described = new Map(
        help.matchAll(/^ {2}(?:-\w, )?((?:--)?[a-z][\w-]*)(?: <[^>]+>)? {2,}(\S.*)$/gm).map(row => [row[1], row[2]]),
      )
      for (const name of commands[command] ?? []) {
        assert.ok(described.has(name), `${name} is there, with a description`)
      }
      // A row of the help without a description has nothing after its name.
      assert.doesNotMatch(help, /^ {2}-[\w-]+(?:, --[\w-]+)?(?: <[^>]+>)? *$/m)
    })
  }
})

test('the first help names every setting that most people need, and what the exit codes mean', async () => {
  const { stdout } = await run(['--help'])
  for (const word of ['LOCKSTEP_DATABASE_URL', 'LOCKSTEP_HOST', 'LOCKSTEP_PORT']) assert.ok(stdout.includes(word))
  assert.match(stdout, /0 done, 1 data refused, 2 wrong usage, 3 storage, 130 interrupted/)
})

/** The help of every command that does something, by asking for the help of the ones above it. */
async function findCommands(above: readonly string[]): Promise<Map<string, string>> {
  const { code, stdout, stderr } = await run([...above, '--help'])
  assert.equal(code, 0)
  assert.equal(stderr, '')
  const [, list] = stdout.split('\nCommands:\n')
  if (list === undefined) return new Map([[above.join(' '), stdout]])
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(row => row[1] ?? '').filter(name => name !== 'help')
  const below = await Promise.all(names.map(name => findCommands([...above, name])))
  return new Map(below.flatMap(found => [...found]))
}
