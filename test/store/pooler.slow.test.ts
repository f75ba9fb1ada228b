import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { importArchive } from '../../src/archive/import.ts'
import { diagnose } from '../../src/cli/doctor.ts'
import { open } from '../../src/store/index.ts'
import { planning } from '../../src/store/postgres.ts'
import { run } from '../support/command.ts'
import { readersToken, records, views } from '../support/all-responses.ts'
import { emptyPostgres } from '../support/engines.ts'
import { hasPrepared, type PoolerOptions, startPgBouncer, testBehindPgBouncer } from '../support/pgbouncer.ts'
import { runSql, sharedServer } from '../support/postgres.ts'
import { archiveOf } from '../support/service.ts'
import { ask, serve } from '../support/serving.ts'

// engine: any

const docs = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8')

/** Fewer connections than one process has, so that processes share each; a session keeps one of its own. */
const MODES: readonly PoolerOptions[] = [
  ...(hasPrepared ? [{ mode: 'transaction', connections: 6 } as const] : []),
  { mode: 'session', connections: 120 },
]

testBehindPgBouncer('a pooler that loses prepared statements is refused at the start, with the reason', () =>
  behind({ mode: 'transaction', connections: 6, prepared: 0 }, async ({ pooled, direct }) => {
    await (await open(direct, OPTIONS)).close()
    for (const command of [
      ['serve', '--port', '0'],
      ['account', 'list'],
    ]) {
      const { code, stderr } = await run([...command, '--database', pooled])
      assert.match(
        stderr,
        /^lockstep: a pooler loses the prepared statements of its clients: use PgBouncer 1\.21 or later/,
      )
      assert.equal(code, 3)
    }
    const findings = await diagnose({ LOCKSTEP_DATABASE_URL: pooled })
    assert.match(findings.flatMap(({ problems }) => problems).join(), /a pooler loses the prepared statements/)
    const version = (await diagnose({ LOCKSTEP_DATABASE_URL: direct })).find(({ check }) => check === 'version')
    assert.equal(version?.result, 'ok')
  }),
)

for (const options of MODES) {
  const where = `behind PgBouncer with pool_mode = ${options.mode}`

  testBehindPgBouncer(`${where} two services return what one without it does, to every request`, () =>
    behind(options, async ({ pooled, direct }) => {
      const store = await open(direct, OPTIONS)
      await importArchive(store, archiveOf(records))
      const token = await readersToken(store)
      await store.close()
      const expected = new Map<string, Response>()
      {
        await using service = await serve(direct)
        for (const view of views) expected.set(view, await responseTo(service.url, view, token))
      }

      await using one = await serve(pooled)
      await using two = await serve(pooled)
      // Each begins with another request, so that statements are first used in another order.
      const clients = [one, two].flatMap(({ url }, service) =>
        Array.from({ length: 4 }, (_, client) => ({ url, start: service * 231 + client * 67, step: 1 + service * 5 })),
      )
      const wrong: Record<string, number> = {}
      const work = clients.map(async ({ url, start, step }) => {
        for (let count = 0; count < 600; count += 1) {
          const view = views[(start + count * step) % views.length] ?? ''
          const response = await responseTo(url, view, token)
          if (isDeepStrictEqual(response, expected.get(view))) continue
          const what = `${view}: ${response.status} ${response.text}`
          wrong[what] = (wrong[what] ?? 0) + 1
        }
      })
      await Promise.all(work)
      assert.deepEqual(wrong, {})
    }),
  )
}

test('the docs set for the role behind a pooler what the service asks of the planner', () => {
  for (const [name, value] of Object.entries(planning)) {
    assert.match(docs, new RegExp(`^alter role lockstep_service set ${name} = '?${value}'?;$`, 'm'))
  }
})

interface Response {
  readonly status: number | string
  readonly text: string
}

async function responseTo(url: string, view: string, token: string): Promise<Response> {
  const { status, text } = await ask(url + view, token)
  // Bodies of errors have an identifier of the request. These two change with each request: when the token was last used, and what was read.
  const changes = status !== 200 || view.endsWith('/me') || view.startsWith('/api/v1/me/reads')
  return { status, text: changes ? '' : text }
}

interface Addresses {
  readonly pooled: string
  /** That of the server itself. */
  readonly direct: string
}

/** Runs work with an empty database, whose settings are those that the docs set for the role. */
async function behind(options: PoolerOptions, work: (addresses: Addresses) => Promise<void>) {
  const server = await sharedServer()
  const { url: direct, remove } = await emptyPostgres()
  try {
    for (const [, setting] of docs.matchAll(/^alter role lockstep_service set (.*);$/gm)) {
      await runSql(direct, `alter database ${new URL(direct).pathname.slice(1)} set ${setting}`)
    }
    await using pooler = await startPgBouncer(server, options)
    await work({ pooled: pooler.urlOf(direct), direct })
  } finally {
    await remove()
  }
}

const OPTIONS = { busyTimeoutMs: 4000 }
