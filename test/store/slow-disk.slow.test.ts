// engine: sqlite
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setPassword } from '../../src/accounts/passwords.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { open } from '../support/raw.ts'
import { account, trainingSession } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { onBusyMachine } from '../support/service.ts'
import { ask, serve } from '../support/serving.ts'
import { makeSyncGate } from '../support/preloaded.ts'

const PASSWORD = 'correct horse battery'

/** What a service is asked for while the disk does not respond. */
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
  '/readyz',
]

test('reads are answered while a write waits for the disk, which is not acknowledged before, and everything is exported once that is on record', async t => {
  await using folder = await makeFolder()
  const gate = makeSyncGate(folder.path)
  if (gate === undefined) return t.skip('gcc is not installed')
  const token = await addReader(folder)
  await using running = folder.start(['serve'], { env: { ...onBusyMachine, ...gate.env } })
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
  let exporting = true
  const exported = fetch(`${url}/settings/export`, { headers: { Cookie: cookie }, signal }).then(response => {
    exporting = false
    return response
  })
  for (let round = 0; round < 10; round += 1) {
    for (const path of PATHS) {
      const headers = path.startsWith('/api') ? { Authorization: `Bearer ${token}` } : { Cookie: cookie }
      const response = await fetch(url + path, { headers, redirect: 'manual', signal })
      await response.text()
      assert.equal(response.status, 200, path)
    }
  }
  assert.equal((await signIn('wrong horse battery')).status, 403)
  assert.deepEqual([acknowledged, exporting], [false, true])
  gate.open()
  assert.equal((await signedIn).status, 303)
  assert.match(await (await exported).text(), /"kind":"end"/)
})

test('a form that waits for the disk longer than a client may stop reading is answered when it is stored', async t => {
  await using folder = await makeFolder()
  const gate = makeSyncGate(folder.path)
  if (gate === undefined) return t.skip('gcc is not installed')
  await addReader(folder)
  const env = { ...onBusyMachine, LOCKSTEP_REQUEST_TIMEOUT: '1', ...gate.env }
  await using running = folder.start(['serve'], { env })
  const [, port] = await running.says(/Listening on http:\/\/127\.0\.0\.1:(\d+)/)
  const form = new URLSearchParams({ username: 'ann', password: PASSWORD }).toString()
  using connection = open(Number(port))

  gate.close()
  connection.send(
    lines(
      'POST /signin HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      `Origin: http://127.0.0.1:${port}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${form.length}`,
    ) + form,
  )
  await gate.reached()
  await sleep(2500)
  gate.open()
  assert.equal((await connection.answer()).status, 303)
})

test('reads are answered while an import waits for the disk, at each of its syncs', async t => {
  await using folder = await makeFolder()
  const gate = makeSyncGate(folder.path)
  if (gate === undefined) return t.skip('gcc is not installed')
  const archive = (lines: readonly object[]) => lines.map(line => JSON.stringify(line)).join('\n')
  const more = Array.from({ length: 3000 }, (_, index) => trainingSession(index + 3, 1))
  writeFileSync(folder.file('more.ndjson'), archive(more))
  const first = archive([account(1, 'ann'), trainingSession(2, 1)])
  await folder.succeeds(['import', '-'], { input: first })
  const created = await folder.run(['key', 'create', '--account', 'ann', '--name', 'reader'])
  await using serving = await serve(folder.databaseUrl)

  gate.close()
  await using importing = folder.start(['import', 'more.ndjson'], { env: gate.env })
  let syncs = 0
  while (await gate.reached(importing.ended)) {
    for (const path of PATHS.filter(path => path.startsWith('/api'))) {
      const { status } = await ask(serving.url + path, created.stdout.trim())
      assert.equal(status, 200, path)
    }
    syncs += 1
    gate.close()
  }
  const { code, stderr } = await importing.ended
  assert.equal(code, 0, stderr)
  assert.ok(syncs >= 2, `${syncs}`)
  t.diagnostic(`${syncs} syncs`)
})

/** Adds an account with a password and a record; returns its API key. */
async function addReader(folder: Folder): Promise<string> {
  const input = [account(1, 'ann'), trainingSession(2, 1)].map(line => JSON.stringify(line)).join('\n')
  await folder.succeeds(['import', '-'], { input })
  await using store = await folder.store()
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  const scopes = ['dtt:read', 'lkbx:read'] as const
  return await createKey(store, { accountId: 1, name: 'reader', scopes, expiresAt: null }, Date.now())
}

test('a process that closes the database while it writes ends after both', async () => {
  await using folder = await makeFolder()
  const src = new URL('../../src/', import.meta.url)
  const script = `
    import { open } from '${src}store/index.ts'
    import { sql } from '${import.meta.resolve('kysely')}'
    const store = await open('sqlite:written.db', { busyTimeoutMs: 1000, writerThread: true })
    const rows = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 300000) select max(i) from n'
    const written = sql.raw('create table written as ' + rows).execute(store.db)
    await new Promise(resolve => setImmediate(resolve))
    await store.close()
    await written
    console.log('closed')
  `
  writeFileSync(folder.file('write.mjs'), script)
  const { stdout } = await promisify(execFile)(process.execPath, ['write.mjs'], { cwd: folder.path })
  assert.equal(stdout, 'closed\n')
})
