import assert from 'node:assert/strict'
import { createKey } from '../../src/accounts/api-keys.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { lists, recordsOf, Seen } from '../support/list-changes.ts'
import { runSql, startPostgres, testOnPostgres } from '../support/postgres.ts'
import { account } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

const CHANGES = 30

testOnPostgres(
  'while records change and two replicas show different states, no two responses have the same validator',
  async t => {
    const primary = await startPostgres()
    t.after(() => primary.remove())
    const replicas = [await startPostgres({ follows: primary }), await startPostgres({ follows: primary })]
    for (const replica of replicas) t.after(() => replica.remove())
    const store = await open(primary.url, { busyTimeoutMs: 5000 })
    t.after(() => store.close())
    const change = (id: number, owner: number, name: string) =>
      importArchive(store, archiveOf(recordsOf(id, owner, name)), { onConflict: 'replace' })
    await importArchive(store, archiveOf([account(1, 'ann'), account(2, 'ben')]))
    for (const id of [1, 2, 3]) await change(id, 1, 'First')
    const scopes = ['dtt:read', 'lkbx:read']
    const token = await createKey(store, { accountId: 1, name: 'test', scopes, expiresAt: null }, Date.now())
    const LOCKSTEP_DATABASE_READ_URLS = replicas.map(({ url }) => url).join()
    await using service = await serve(primary.url, { settings: { LOCKSTEP_DATABASE_READ_URLS } })

    const seen = new Seen()
    const newest = { texts: new Set<string>(), etags: new Set<string>() }
    const done = new AbortController()
    async function read(path: string, etag: string | undefined) {
      const headers = { Authorization: `Bearer ${token}`, ...(etag === undefined ? {} : { 'If-None-Match': etag }) }
      const response = await fetch(service.url + path, { headers })
      const answer = {
        status: response.status,
        headers: response.headers,
        text: await response.text(),
        body: undefined,
      }
      assert.ok(answer.status === 200 || answer.status === 304, `${path}: ${answer.status}`)
      seen.check(path, answer, etag)
      return answer
    }
    const reading = Promise.all(
      lists.map(async (path, index) => {
        let last: string | undefined
        for (let count = index; !done.signal.aborted; count += 1) {
          const { headers, status, text } = await read(path, count % 3 === 0 ? undefined : last)
          last = headers.get('ETag') ?? undefined
          newest.etags.add(`${path} ${last}`)
          if (status === 200) newest.texts.add(`${path} ${text}`)
        }
      }),
    )
    reading.catch(() => done.abort())

    for (let count = 0; count < CHANGES && !done.signal.aborted; count += 1) {
      // In turns one of them stays behind, and catches up while the other does.
      const [behind = 0, ahead = 1] = count % 2 === 0 ? [0, 1] : [1, 0]
      await runSql(replicas[ahead]?.url ?? '', 'select pg_wal_replay_resume()')
      await runSql(replicas[behind]?.url ?? '', 'select pg_wal_replay_pause()')
      const before = newest.etags.size
      // Each record comes to its reader, goes to somebody else, and comes back.
      await change(4 + (Math.floor(count / 2) % 5), 1 + (count % 2), `Name ${count}`)
      await until(async () => newest.etags.size > before || done.signal.aborted)
    }
    done.abort()
    await reading
    assert.ok(newest.texts.size > CHANGES, `${newest.texts.size} answers differ`)
  },
)
