import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { planning } from '../../src/store/postgres.ts'
import { MAX_BATCH } from '../../src/store/postgres-read-queue.ts'
import { everyAnswer, readersToken, records } from '../support/all-responses.ts'
import { promisedReads, tryReads } from '../support/batched-reads.ts'
import { runSql } from '../support/postgres.ts'
import { archiveOf } from '../support/service.ts'
import { serve, startLoad } from '../support/serving.ts'

// engine: any

// PgBouncer 1.21 has to be built from its sources on Debian 12, so these run only where somebody names an address behind one.
const pooler = process.env['LOCKSTEP_TEST_PGBOUNCER']
const why = 'LOCKSTEP_TEST_PGBOUNCER does not name an address of PgBouncer, with a role that may create databases'

const docs = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')

testBehindPooler(
  'behind PgBouncer all responses are the same, and none fails while processes share its connections',
  async ({ pooled: address, direct }) => {
    const [store, pooled] = [await open(direct, OPTIONS), await open(address, OPTIONS)]
    await importArchive(store, archiveOf(records))
    assert.deepEqual(await everyAnswer(pooled), await everyAnswer(store))
    const token = await readersToken(store)
    await pooled.close()
    await store.close()

    await using one = await serve(address, { args: ['--workers', '2'] })
    await using two = await serve(address)
    const loads = [one, two].flatMap(({ url }) =>
      ['/api/v1/dtt/sessions', '/api/v1/lkbx/templates?ownerId=1', '/api/v1/me'].map(path =>
        startLoad(url + path, token),
      ),
    )
    await Promise.all(loads.map(load => load.more(500)))
    const outcomes = (await Promise.all(loads.map(load => load.stop()))).flat()
    assert.deepEqual(
      outcomes.filter(({ status }) => status !== 200),
      [],
    )
  },
)

for (const promised of promisedReads) {
  testBehindPooler(`behind PgBouncer, ${promised.title}`, ({ pooled, direct }) => tryReads(promised, pooled, direct))
}

test('the docs set for the role behind a pooler what the service asks of the planner', () => {
  for (const [name, value] of Object.entries(planning)) {
    assert.match(docs, new RegExp(`^alter role lockstep_service set ${name} = '?${value}'?;$`, 'm'))
  }
})

test('the docs let a pooler keep as many statements as are sent together', () => {
  assert.ok(docs.includes(`\`max_prepared_statements\` of at least ${MAX_BATCH}`))
})

interface Addresses {
  readonly pooled: string
  /** That of the server itself. */
  readonly direct: string
}

/** A test with an empty database behind PgBouncer. In CI nothing may be skipped, and there is no PgBouncer. */
function testBehindPooler(title: string, work: (addresses: Addresses) => Promise<void>) {
  if (pooler === undefined && process.env['CI'] === 'true') process.stdout.write(`not run: ${title}: ${why}\n`)
  else test(title, { skip: pooler === undefined && why }, () => using(pooler ?? '', work))
}

async function using(address: string, work: (addresses: Addresses) => Promise<void>) {
  const name = `test_${randomBytes(8).toString('hex')}`
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href
  const direct = at(await serverBehind(address))
  await runSql(address, `create database ${name}`)
  try {
    for (const [, setting] of docs.matchAll(/^alter role lockstep_service set (.*);$/gm)) {
      await runSql(address, `alter database ${name} set ${setting}`)
    }
    await work({ pooled: at(address), direct })
  } finally {
    await runSql(address, `drop database ${name} with (force)`)
  }
}

const OPTIONS = { busyTimeoutMs: 4000 }

/** Imports keep temporary tables, so they connect to the server itself. */
async function serverBehind(address: string): Promise<string> {
  const [row] = await runSql<{ host: string; port: number }>(
    address,
    'select host(inet_server_addr()) as host, inet_server_port() as port',
  )
  return Object.assign(new URL(address), { hostname: row?.host, port: String(row?.port) }).href
}
