// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { account, trainingSession } from '../support/records.ts'
import { ask } from '../support/serving.ts'
import { makeSetClock } from '../support/preloaded.ts'
import { until } from '../support/waiting.ts'

const YEAR = 365 * 86_400
const WRONG = 'lks_wrong'

test('a clock that is set back a year changes no limit and no window; API keys expire by it', async t => {
  await using folder = await makeFolder()
  const clock = makeSetClock(folder.path)
  if (clock === undefined) return t.skip('gcc is not installed')
  const input = [account(1, 'ann'), trainingSession(2, 1)].map(line => JSON.stringify(line)).join('\n')
  await folder.succeeds(['import', '-'], { input })
  await folder.succeeds(['account', 'set-password', '--account', 'ann'], { input: `${PASSWORD}\n` })
  const create = async (expires: string) =>
    (await folder.run(['key', 'create', '--account', 'ann', '--name', expires, '--expires', expires])).stdout.trim()
  const token = await create('30d')
  const eternal = await create('never')
  await using running = folder.start(['serve', '--port', '0'], {
    env: { ...clock.env, LOCKSTEP_RATE_LIMIT: '60', LOCKSTEP_FAILURE_LIMIT: '3' },
  })
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  const me = `${url}/api/v1/me`
  const ann = visitor(url)
  const key = { name: 'Script', scope: 'dtt:read', expires: '30d' }
  const left = (rateLimit = '') => {
    const [, remaining, seconds] = /r=(\d+);t=(\d+)$/.exec(rateLimit) ?? []
    assert.ok(Number(seconds) >= 1 && Number(seconds) <= 60, rateLimit)
    return Number(remaining)
  }
  const lastUsed = async () => {
    const { stdout } = await folder.run(['key', 'list', '--json'])
    const found: { name: string; lastUsedAt: string | null }[] = JSON.parse(stdout)
    return Date.parse(found.find(({ name }) => name === 'never')?.lastUsedAt ?? '')
  }

  assert.equal((await ann.signIn('ann')).status, 303)
  const from = performance.now()
  const first = left((await ask(me, token)).rateLimit)
  await ask(me, eternal)
  clock.set(YEAR)
  // A grant is used for less than a second.
  await until(async () => (await ask(me, token)).text.includes('token_expired'))
  clock.set(0)
  for (let count = 0; count < 3; count += 1) await ask(me, WRONG)
  await until(async () => (await lastUsed()) > 0)

  clock.set(-YEAR)
  const second = await ask(me, token)
  assert.equal(second.status, 200)
  const wrong = await ask(me, WRONG)
  // On a machine on which this took a minute, the next windows have begun.
  if (performance.now() - from < 60_000) {
    assert.ok(left(second.rateLimit) < first, 'the window goes on')
    assert.equal(wrong.status, 429, 'and that of failures')
  }
  await ask(me, eternal)
  await until(async () => (await lastUsed()) < Date.now() - 1000 * (YEAR - 3600))
  assert.equal((await ann.post('/keys', key)).to, '/signin?again=1&next=%2Fkeys', 'the password is asked for again')
  // On a slow machine a new window begins meanwhile.
  let refused = await ask(me, token)
  for (let count = 0; count < 130 && refused.status !== 429; count += 1) refused = await ask(me, token)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.retryAfter) <= 60, refused.retryAfter ?? '')
})
