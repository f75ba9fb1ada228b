import assert from 'node:assert/strict'
import { run } from './command.ts'

/** The help of every command and group of commands, by its words: `''` is the main help, `'key create'` that of a command. */
export async function readHelps(): Promise<Map<string, string>> {
  const helps = new Map<string, string>()
  const read = async (words: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await run([...words, '--help'])
    assert.deepEqual([code, stderr], [0, ''])
    helps.set(words.join(' '), stdout)
    const [, list = ''] = stdout.split('\nCommands:\n')
    const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(row => row[1] ?? '').filter(name => name !== 'help')
    for (const name of names) await read([...words, name])
  }
  await read([])
  return helps
}
