import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import type { Engine } from '../../src/store/index.ts'

/** An empty database of a test's own. */
export interface TestDatabase {
  readonly url: string
  remove(): Promise<void>
}

/** Where the run that goes through all tests on PostgreSQL has its server; SQLite files otherwise. */
export const postgresUrl = process.env['TEST_POSTGRES_URL']

/** Registers a test of what one engine alone does: in the run on the other engine there is no such test. */
export function testOn(engine: Engine, title: string, work: (t: TestContext) => Promise<void>) {
  if ((engine === 'postgres') === (postgresUrl !== undefined)) test(title, work)
}

export async function newDatabase(): Promise<TestDatabase> {
  if (postgresUrl === undefined) return newSqlite()
  const database = emptied.pop() ?? (await newPostgres(postgresUrl))
  return {
    url: database.url,
    async remove() {
      await ask(database.url, REMOVE_ALL_ROWS)
      emptied.push(database)
    },
  }
}

/** A server takes long to create a database and its tables, so the tests of a file use one again. It goes away with the server. */
const emptied: TestDatabase[] = []

const REMOVE_ALL_ROWS = `do $$
  declare name text;
  begin
    for name in select tablename from pg_tables where schemaname = 'public' and tablename <> 'migration' order by tablename loop
      execute format('delete from %I', name);
    end loop;
    for name in select sequencename from pg_sequences where schemaname = 'public' loop
      execute format('alter sequence %I restart', name);
    end loop;
  end
$$`

export function newSqlite(): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  return {
    url: `sqlite:${join(folder, 'test.db')}`,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A database on a server, which `server` names together with a role that may make databases. */
export async function newPostgres(server: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await ask(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, remove: () => ask(server, `drop database ${name} with (force)`) }
}

/** One statement on a connection of its own. */
export async function ask(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
