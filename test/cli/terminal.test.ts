// engine: sqlite
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Folder, launcher, makeFolder } from '../support/command.ts'
import { account, trainingSession } from '../support/records.ts'

/** What people see who sit at a terminal. The program `script` gives one to a command. */
const SCRIPT = '/usr/bin/script'
const skip = spawnSync(SCRIPT, ['--version']).status === 0 ? false : 'there is no program named script'
const options = { skip }

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
  assert.match(whole.screen, /100 % of few\.ndjson.*few\.ndjson: stored\r?\n/s)
  assert.match(whole.screen, /training-session +1/)

  const stopped = await atTerminal(folder, 'import many.ndjson', [{ at: /[1-9]\d? % of many/, keys: CTRL_C }])
  assert.match(stopped.screen, /many\.ndjson: not stored\r?\n.*interrupted: nothing of this archive was stored/s)
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

interface Keys {
  /** What is on the screen before they are typed. */
  readonly at: RegExp
  readonly keys: string
}

/** Runs a command at a terminal of its own and types, when the screen shows what is waited for. */
async function atTerminal(folder: Folder, command: string, typed: readonly Keys[] = []) {
  const line = `stty cols 100 rows 30; exec "${launcher}" ${command}`
  await using running = folder.spawn(SCRIPT, ['--quiet', '--return', '--command', line, '/dev/null'])
  for (const { at, keys } of typed) {
    await running.says(at)
    running.process.stdin?.write(keys)
  }
  const { code, stdout } = await running.ended
  return { code, screen: stdout }
}
