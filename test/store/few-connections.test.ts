// engine: any
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { open } from '../../src/store/index.ts'
import { bytesOf } from '../support/archives.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'
import { connect, runSql } from '../support/postgres.ts'
import { trainingSession, world } from '../support/records.ts'
import { ask, serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

const SAYS =
  /no room for a further connection of this role: the service goes on with those it has, and needs two at least/

for (const limit of [1, 2, 3]) {
  testOnEmptyPostgres(
    `a service whose role may have ${limit} connections answers${limit === 1 ? ' the API' : ' everything'}, and says what it lacks`,
    async ({ url }) => {
      const role = `few_${limit}`
      const store = await open(url, { busyTimeoutMs: 5000 })
      const sessions = Array.from({ length: 40 }, (_, index) => trainingSession(index + 1, 1))
      await importArchive(store, Readable.from([bytesOf([...world, ...sessions])]))
      await setPassword(store, 1, PASSWORD)
      const request = { accountId: 1, name: 'test', scopes: ['dtt:read'], expiresAt: null }
      const token = await createKey(store, request, Date.now())
      await store.close()
      await runSql(url, `create role ${role} login connection limit ${limit}`)
      try {
        await runSql(url, `grant all on all tables in schema public to ${role}`)
        await runSql(url, `grant all on all sequences in schema public to ${role}`)
        const address = new URL(url)
        address.username = role
        await using service = await serve(address.href, { args: ['--no-migrate'] })
        // It needs a second one before the first request.
        if (limit === 1) await until(async () => SAYS.test(service.said.stderr))
        const paths = sessions.map((_, index) => `/api/v1/dtt/sessions/${index + 1}`)
        const outcomes = await Promise.all(paths.map(path => ask(`${service.url}${path}`, token)))
        assert.deepEqual([...new Set(outcomes.map(({ status }) => status))], [200])
        assert.equal((await ask(`${service.url}/readyz`)).status, 200)
        if (limit > 1) await assertPages(service.url)
        assert.match(service.said.stderr, SAYS)
        assert.equal(service.said.stderr.match(/"message":"the server of the database has no room/g)?.length, 1, 'once')
      } finally {
        await runSql(url, `drop owned by ${role}`)
        await runSql(url, `drop role ${role}`)
      }
    },
  )
}

testOnEmptyPostgres(
  'a service waits at its start for the room of a connection that was just closed',
  async ({ url }) => {
    await (await open(url, { busyTimeoutMs: 5000 })).close()
    await runSql(url, 'create role only_one login connection limit 1')
    try {
      await runSql(url, 'grant all on all tables in schema public to only_one')
      const address = new URL(url)
      address.username = 'only_one'
      const client = await connect(address.href)
      const closed = sleep(1000).then(() => client.end())
      await using service = await serve(address.href, { args: ['--no-migrate'] })
      await closed
      assert.equal((await ask(`${service.url}/readyz`)).status, 200)
    } finally {
      await runSql(url, 'drop owned by only_one')
      await runSql(url, 'drop role only_one')
    }
  },
)

async function assertPages(url: string) {
  const ann = visitor(url)
  assert.equal((await ann.signIn('ann')).status, 303)
  const pages = await Promise.all(['/', '/training', '/locks', '/keys', '/settings'].map(path => ann.get(path)))
  assert.deepEqual([...new Set(pages.map(({ status }) => status))], [200])
}
