// engine: any
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { before, test } from 'node:test'
import { run } from '../support/command.ts'
import { readHelps } from '../support/helps.ts'

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

test('bash completes every command, with every option that its help names', async () => {
  for (const { line, names, options } of await wordsAfter()) {
    const offered = complete(line)
    for (const word of [...options, ...names]) assert.ok(offered.includes(word), `${line}: ${word}`)
  }
})

test('bash completes a word that was begun, the values of an option, and what follows other options', () => {
  assert.deepEqual(complete('lockstep acc'), ['account', 'access'])
  assert.deepEqual(complete('lockstep account se'), ['set-tier', 'set-password'])
  assert.deepEqual(complete('lockstep account add --tier f'), ['founder'])
  assert.deepEqual(complete('lockstep account add --tier founder --us'), ['--username'])
  assert.deepEqual(complete('lockstep completion '), ['bash', '--help'])
  // The shell itself completes paths then.
  assert.deepEqual(complete('lockstep backup --to '), [])
})
