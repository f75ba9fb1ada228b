import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { run } from '../support/command.ts'
import { readHelps } from '../support/helps.ts'

let helps: ReadonlyMap<string, string>
before(async () => {
  helps = await readHelps()
})

test('every command has a help that describes it and each of its options, on stdout', async t => {
  const found = [...helps].filter(([, help]) => !help.includes('\nCommands:\n'))
  assert.ok(found.length > 30, `${found.length} commands`)
  for (const [command, help] of found) {
    await t.test(command, () => {
      assert.match(help, /^Usage: lockstep .*\n\n[A-Z][^]*?\.\n/, 'a usage line and sentences')
      // A row of the help without a description has nothing after its name.
      assert.doesNotMatch(help, /^ {2}-[\w-]+(?:, --[\w-]+)?(?: <[^>]+>)? *$/m)
    })
  }
})

test('help shows a command, and refuses one that does not exist', async () => {
  for (const command of ['key', 'pull']) {
    const { code, stdout } = await run(['help', command])
    assert.deepEqual([code, stdout], [0, helps.get(command)])
  }
  const { code, stdout } = await run(['help'])
  assert.deepEqual([code, stdout], [0, helps.get('')])
  assert.equal((await run(['help', 'kay'])).code, 2)
})

test('scripts that use the former names of the commands for keys and access still work', async () => {
  for (const [former, name] of Object.entries({ token: 'key', link: 'access' })) {
    for (const words of [['list', '--help'], ['--help']]) {
      assert.deepEqual(await run([former, ...words]), await run([name, ...words]))
    }
  }
})

test('every command in the docs exists, with every option that the docs give it', () => {
  const root = join(import.meta.dirname, '../..')
  const pages = ['.', 'docs'].flatMap(folder =>
    readdirSync(join(root, folder))
      .filter(name => name.endsWith('.md'))
      .map(name => join(folder, name)),
  )
  for (const page of pages) {
    for (const [, line = ''] of readFileSync(join(root, page), 'utf8').matchAll(
      /(?:\.\/|^|`)lockstep ([^\n`|;&)]+)/gm,
    )) {
      const words = line.split(/\s+/)
      const [command = '', subcommand = ''] = words
      if (command === 'help' || command.startsWith('-')) continue
      const help = helps.get(`${command} ${subcommand}`) ?? helps.get(command)
      assert.ok(help !== undefined, `${page}: ${line}`)
      for (const option of words.filter(word => /^--[a-z]/.test(word))) {
        assert.ok(help.includes(option.replace(/=.*/, '')), `${page}: ${line}: ${option}`)
      }
    }
  }
})
