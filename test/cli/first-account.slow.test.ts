// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownCommand } from '../../src/version.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { until } from '../support/waiting.ts'

async function startEmpty(folder: Folder, ...args: string[]) {
  const running = folder.start(['serve', '--port', '0', ...args])
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  await until(async () => running.said.stderr.includes('./lockstep import'))
  const link = /^ {2}(http:\S+)(\/invitation\/\S+)$/m.exec(running.said.stderr)
  assert.equal(link?.[1], url)
  return Object.assign(running, { url, path: link?.[2] ?? '' })
}

test('an empty service prints a link with which the first account is created in the browser, once', async () => {
  await using folder = await makeFolder()
  await using running = await startEmpty(folder, '--workers', '2')
  const { url, path } = running
  const alex = visitor(url)
  assert.match((await alex.get(path)).text, /Create the first account/)
  const advice = (await alex.get('/signin')).text.replaceAll(/<\/?span[^>]*>/g, '')
  const commands = [...advice.matchAll(/<code>([./]*lockstep [^<]*)/g)].map(([, command = '']) => command)
  assert.ok(commands.length > 3)
  for (const command of commands) assert.ok(command.startsWith(`${ownCommand} `), command)
  const fields = { username: 'alex', next: PASSWORD, again: PASSWORD, timeZone: 'Asia/Kathmandu' }
  const faulty = [
    { ...fields, username: '123' },
    { ...fields, again: 'another password' },
    { ...fields, next: 'short', again: 'short' },
  ]
  for (const entered of faulty) {
    const refused = await alex.post(path, entered)
    assert.equal(refused.status, 422)
    assert.match(refused.text, /role="alert"/)
    assert.match(refused.text, new RegExp(`value="${entered.username}"`))
  }
  assert.equal((await visitor(url).post(path, fields, { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  assert.equal((await visitor(url).post(`${path.slice(0, -1)}.`, fields)).status, 404)

  const created = await Promise.all(['alex', 'robin'].map(username => visitor(url).post(path, { ...fields, username })))
  assert.deepEqual(
    created.map(({ status }) => status).toSorted((one, other) => one - other),
    [303, 404],
    'only one of two at the same time',
  )
  const { stdout } = await folder.run(['account', 'list'])
  const [, name = ''] = /^1 +(\w+) +ultra/m.exec(stdout) ?? []
  assert.equal((await alex.signIn(name)).to, '/')
  assert.match((await alex.get('/')).text, /Times in Asia\/Kathmandu/, 'as in the browser that made it')
  assert.equal((await alex.get(path)).status, 404)
  assert.equal((await alex.post(path, { ...fields, username: 'sam' })).status, 404)
  assert.equal((await folder.run(['account', 'list'])).stdout, stdout)
  assert.ok(
    !`${running.said.stdout}${running.said.stderr}`.split(`${url}${path}\n`).slice(1).join('').includes(path),
    'no log line has it',
  )
})

test('the link for the first account ends with the next start, which prints another one while there is no account', async () => {
  await using folder = await makeFolder()
  const first = await startEmpty(folder)
  first.process.kill('SIGTERM')
  await first.ended
  await using second = await startEmpty(folder)
  assert.notEqual(second.path, first.path)
  assert.equal((await visitor(second.url).get(first.path)).status, 404)
  assert.equal((await visitor(second.url).get(second.path)).status, 200)
  await folder.succeeds(['account', 'add', '--username', 'robin'])
  assert.equal((await visitor(second.url).get(second.path)).status, 404)
})
