// engine: any
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { makeFolder, run } from '../support/command.ts'
import { readHelps } from '../support/helps.ts'
import { needs } from '../support/programs.ts'

let script = ''
before(async () => {
  script = (await run(['completion', 'bash'])).stdout
})

/** What bash offers after a line, as if its last word were being typed. */
function complete(line: string): string[] {
  const words = line.split(' ')
  const ask = `COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _lockstep; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${script}\n${ask}`], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout.split('\n').filter(word => word !== '')
}

/** What may follow each command, as its help names it: commands and options. */
async function wordsAfter(): Promise<{ line: string; names: string[]; options: string[] }[]> {
  return [...(await readHelps())].map(([command, help]) => {
    const [head = '', commands = ''] = help.split('\nCommands:\n')
    const options = [...head.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(row => row[1] ?? '')
    const names = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(row => row[1] ?? '').filter(name => name !== 'help')
    return { line: command === '' ? 'lockstep ' : `lockstep ${command} `, names, options }
  })
}

test('bash completes every command, with every option that its help names', needs('bash'), async () => {
  for (const { line, names, options } of await wordsAfter()) {
    const offered = complete(line)
    for (const word of [...options, ...names]) assert.ok(offered.includes(word), `${line}: ${word}`)
  }
})

test('fish completes every command, with every option that its help names', needs('fish'), async () => {
  const { stdout: fishScript } = await run(['completion', 'fish'])
  const all = await wordsAfter()
  const lines = [...all.flatMap(({ line }) => [line, `${line}--`]), 'lockstep account add --tier f']
  const asks = lines.map(line => `complete -C '${line}'; echo end`)
  const { status, stdout, stderr } = spawnSync('fish', ['--no-config', '-c', [fishScript, ...asks].join('\n')], {
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
  // A description follows a tab.
  const offered = stdout.split('end\n').map(block => block.split('\n').map(row => row.split('\t')[0] ?? ''))
  for (const [index, { line, names, options }] of all.entries()) {
    for (const word of names) assert.ok(offered[2 * index]?.includes(word), `${line}: ${word}`)
    for (const word of options) assert.ok(offered[2 * index + 1]?.includes(word), `${line}: ${word}`)
  }
  assert.deepEqual(offered[2 * all.length], ['founder', ''])
})

test('zsh completes a word that was begun, and the values of an option', needs('zsh'), async () => {
  const { stdout: zshScript } = await run(['completion', 'zsh'])
  await using folder = await makeFolder()
  writeFileSync(folder.file('script'), zshScript)
  // Zsh completes only what is typed: keys are sent to a zsh on a terminal of its own, which says what the line became.
  const typed = ['account set-t', 'account add --tier f', 'account add --tier founder --user', 'compl']
  const program = `zmodload zsh/zpty; zpty shell zsh -f -i
zpty -w shell 'source ./script; lockstep() { print -r -- "g""ot: $*" }; PS1='
for line in "$@"; do zpty -w -n shell "lockstep $line"$'\\t\\n'; zpty -r shell text '*got: *'$'\\n'; print -r -- $text; done`
  const env = { PATH: process.env['PATH'], HOME: folder.path, TERM: 'dumb' }
  const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', program, 'zsh', ...typed], {
    cwd: folder.path,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.deepEqual(
    Array.from(stdout.matchAll(/^got: (.*?) *\r*$/gm), ([, words]) => words),
    ['account set-tier', 'account add --tier founder', 'account add --tier founder --username', 'completion'],
    stdout + stderr,
  )
})

test('bash completes a word that was begun, the values of an option, and what follows other options', () => {
  assert.deepEqual(complete('lockstep acc'), ['account', 'access'])
  assert.deepEqual(complete('lockstep account se'), ['set-tier', 'set-password'])
  assert.deepEqual(complete('lockstep account add --tier f'), ['founder'])
  assert.deepEqual(complete('lockstep account add --tier founder --us'), ['--username'])
  assert.deepEqual(complete('lockstep completion '), ['bash', 'zsh', 'fish', '--help'])
  // The shell itself completes paths then.
  assert.deepEqual(complete('lockstep backup --to '), [])
})

test('only shells that have a script are accepted', async () => {
  const { code, stderr } = await run(['completion', 'tcsh'])
  assert.equal(code, 2)
  assert.match(stderr, /choices are bash, zsh, fish/)
})
