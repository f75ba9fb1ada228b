// engine: sqlite
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Folder, launcher, makeFolder } from '../support/command.ts'
import { needs } from '../support/programs.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'

/** It provides the terminal. */
const options = needs('script')

const CTRL_C = '\u0003'
const ENTER = '\r'

test('an import shows its progress, and Ctrl-C ends it with code 130 and nothing stored', options, async () => {
  await using folder = await makeFolder()
  const few = [account(1, 'ann'), trainingSession(1, 1)]
  const many = Array.from({ length: 60_000 }, (_, index) => trainingSession(index + 2, 1))
  writeFileSync(folder.file('few.ndjson'), few.map(line => JSON.stringify(line)).join('\n'))
  writeFileSync(folder.file('many.ndjson'), many.map(line => JSON.stringify(line)).join('\n'))

  const whole = await atTerminal(folder, 'import few.ndjson')
  assert.equal(whole.code, 0)
  assert.match(whole.screen, /few\.ndjson: being stored/)
  assert.match(whole.screen, /training-session +1/)

  const stopped = await atTerminal(folder, 'import many.ndjson', [
    { at: /many\.ndjson: [1-9]\d? % read/, keys: CTRL_C },
  ])
  assert.match(stopped.screen, /interrupted: nothing of this archive was stored/)
  assert.equal(stopped.code, 130)
  assert.equal((await folder.run(['export'])).stdout.trimEnd().split('\n').length, few.length + 1)
})

test('removing an account asks first, and only a yes removes it', options, async () => {
  await using folder = await makeFolder()
  await folder.run(['import', '-'], { input: JSON.stringify(account(1, 'ann')) })
  const question = /Remove account 1 \(ann\)/
  for (const keys of [ENTER, 'n', CTRL_C]) {
    const { code } = await atTerminal(folder, 'account remove --account ann', [{ at: question, keys }])
    assert.equal(code, 130)
  }
  assert.match((await folder.run(['account', 'list'])).stdout, /ann/)
  const { code } = await atTerminal(folder, 'account remove --account ann', [{ at: question, keys: 'y' }])
  assert.equal(code, 0)
  assert.doesNotMatch((await folder.run(['account', 'list'])).stdout, /ann/)
})

test('a password is asked for twice and never shown; nothing changes if the two differ', options, async () => {
  await using folder = await makeFolder()
  await folder.run(['import', '-'], { input: JSON.stringify(account(1, 'ann')) })
  const ask = (first: string, second: string) =>
    atTerminal(folder, 'account set-password --account ann', [
      { at: /New password/, keys: first },
      { at: /Once more/, keys: second },
    ])
  const differing = await ask(`correct horse 1${ENTER}`, `correct horse 2${ENTER}`)
  assert.equal(differing.code, 2)
  assert.match(differing.screen, /the two passwords differ: nothing was changed/)
  const givenUp = await ask(`correct horse 1${ENTER}`, CTRL_C)
  assert.equal(givenUp.code, 130)
  await using store = await folder.store()
  const stored = () => store.db.selectFrom('account').select('password_hash').executeTakeFirst()
  assert.equal((await stored())?.password_hash, null)

  const set = await ask(`correct horse 1${ENTER}`, `correct horse 1${ENTER}`)
  assert.equal(set.code, 0)
  assert.match((await stored())?.password_hash ?? '', /^\$argon2id\$/)
  assert.doesNotMatch(differing.screen + givenUp.screen + set.screen, /horse/)
})

test('a pull shows how many rows of each list it has read', options, async () => {
  const sessions = Array.from({ length: 150 }, (_, index) => trainingSession(index + 1, 1))
  const world = new SourceWorld().add(account(1, 'ann'), ...sessions)
  await using source = await startSource({ world, identity: '/users/me' })
  await using folder = await makeFolder()
  const settings = { LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  const { code, screen } = await atTerminal(folder, `pull --from ${source.url}`, [], settings)
  assert.equal(code, 0, screen)
  assert.match(screen, /training sessions: 100 rows.*training sessions: 150 rows/s)
  assert.match(screen, /pulled into account 1 \(ann\)/)
})

test('a terminal gets no control characters of others; a pipe gets records as they are', options, async () => {
  await using folder = await makeFolder()
  const hostile = '\u001b[35;44m\u009b2J\u202e\u2066\u200f\u061c\u007f'
  const odd = `{"kind":"training-session","data":{"id":1,"name":"\u009b2J\u202e"}}`
  const lines = [account(1, 'ann\u202e'), lockTemplate(1, 1, { name: hostile })].map(line => JSON.stringify(line))
  await folder.run(['import', '-', '--on-error', 'set-aside'], { input: [...lines, odd, ''].join('\n') })
  const commands = [
    'account list',
    'account list --json',
    'export',
    'rejected show 1',
    'account remove --account ann\u202e',
  ]
  for (const command of commands) {
    const typed = command.includes('remove') ? [{ at: /Remove account/, keys: 'n' }] : []
    const { screen } = await atTerminal(folder, command, typed)
    assert.doesNotMatch(screen, /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/, command)
    assert.ok(!screen.includes('\u001b[35;44m'), command)
    assert.match(screen, /\\u202e/, command)
  }
  assert.equal((await folder.run(['rejected', 'show', '1'])).stdout, `${odd}\n`)
  assert.ok((await folder.run(['export'])).stdout.includes(JSON.stringify(hostile)))
  const [listed] = JSON.parse((await folder.run(['account', 'list', '--json'])).stdout)
  assert.equal(listed.username, 'ann\u202e')
})

interface Keys {
  /** The text on the screen before they are typed. */
  readonly at: RegExp
  readonly keys: string
}

/** Runs a command at a terminal of its own and types, when the screen shows what is waited for. */
async function atTerminal(
  folder: Folder,
  command: string,
  typed: readonly Keys[] = [],
  settings: Readonly<Record<string, string>> = {},
) {
  const set = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const line = `stty cols 100 rows 30; exec env ${set.join(' ')} "${launcher}" ${command}`
  await using running = folder.spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'])
  for (const { at, keys } of typed) {
    await running.says(at)
    running.process.stdin?.write(keys)
  }
  const { code, stdout } = await running.ended
  return { code, screen: stdout }
}
