// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setPassword } from '../../src/accounts/passwords.ts'
import { createToken } from '../../src/accounts/tokens.ts'
import { makeFolder } from '../support/command.ts'
import { account, trainingSession } from '../support/records.ts'
import { makeSyncGate } from '../support/sync-gate.ts'

const PASSWORD = 'correct horse battery'

const PATHS = [
  '/api/v1/dtt/sessions/2',
  '/api/v1/status',
  '/api/v1/me',
  '/',
  '/training',
  '/locks',
  '/people',
  '/keys',
  '/settings',
  '/settings/export',
  '/readyz',
]

test('reads are answered while a write waits for the disk, which is not acknowledged before', async t => {
  await using folder = await makeFolder()
  const gate = makeSyncGate(folder.path)
  if (gate === undefined) return t.skip('gcc is not installed')
  const input = [account(1, 'ann'), trainingSession(2, 1)].map(line => JSON.stringify(line)).join('\n')
  assert.equal((await folder.run(['import', '-'], { input })).code, 0)
  let token = ''
  {
    await using store = await folder.store()
    await setPassword(store, 1, PASSWORD)
    const scopes = ['dtt:read', 'lkbx:read'] as const
    token = await createToken(store, { accountId: 1, name: 'reader', scopes, expiresAt: null }, Date.now())
  }
  await using running = folder.start(['serve', '--port', '0'], { env: gate.env })
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  const signal = AbortSignal.timeout(300_000)
  const signIn = (password = PASSWORD) =>
    fetch(`${url}/signin`, {
      method: 'POST',
      body: new URLSearchParams({ username: 'ann', password }),
      headers: { Origin: url },
      redirect: 'manual',
      signal,
    })
  const cookie = (await signIn()).headers.getSetCookie()[0]?.split(';')[0] ?? ''
  {
    // So that the next page has a use to record.
    await using store = await folder.store()
    await store.db
      .updateTable('browser_session')
      .set({ seen_at: Date.now() - 3_600_000 })
      .execute()
  }

  gate.close()
  let acknowledged = false
  const signedIn = signIn().then(response => {
    acknowledged = true
    return response
  })
  await gate.reached()
  for (let round = 0; round < 10; round += 1) {
    for (const path of PATHS) {
      const headers = path.startsWith('/api') ? { Authorization: `Bearer ${token}` } : { Cookie: cookie }
      const response = await fetch(url + path, { headers, redirect: 'manual', signal })
      await response.text()
      assert.equal(response.status, 200, path)
    }
  }
  assert.equal((await signIn('wrong horse battery')).status, 403)
  assert.equal(acknowledged, false)
  gate.open()
  assert.equal((await signedIn).status, 303)
})
