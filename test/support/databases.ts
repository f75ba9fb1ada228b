import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { type Engine, open } from '../../src/store/index.ts'
import { runSql } from './postgres.ts'

/** An empty database for one test. */
export interface TestDatabase {
  readonly url: string
  remove(): Promise<void>
}

/** The server of the run of all tests on PostgreSQL; undefined in the run on SQLite. */
export const postgresUrl = process.env['TEST_POSTGRES_URL']

/** Registers a test for one engine; it does not exist in the run on the other engine. */
export function testOn(
  engine: Engine,
  title: string,
  work: (t: TestContext) => Promise<void>,
  options: { readonly skip?: string | false } = {},
) {
  if ((engine === 'postgres') === (postgresUrl !== undefined)) test(title, options, work)
}

export async function newDatabase(): Promise<TestDatabase> {
  if (postgresUrl === undefined) return copyTemplate()
  const database = emptied.pop() ?? (await newPostgres(postgresUrl))
  return {
    url: database.url,
    async remove() {
      await runSql(database.url, REMOVE_ALL_ROWS)
      emptied.push(database)
    },
  }
}

/** Creating a database and its tables on a server is slow, so the tests of a file share one. It is removed with the server. */
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

/** A copy of a database with the tables, as creating them takes most of the start of a service. */
async function copyTemplate(): Promise<TestDatabase> {
  template ??= makeTemplate()
  const database = newSqlite()
  copyFileSync(await template, database.url.slice('sqlite:'.length))
  return database
}

let template: Promise<string> | undefined

/** It is removed with the folder of the run, or with those for temporary files. */
async function makeTemplate(): Promise<string> {
  const { url } = newSqlite()
  const store = await open(url, { busyTimeoutMs: 5000 })
  await store.close()
  return url.slice('sqlite:'.length)
}

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
  await runSql(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, remove: async () => void (await runSql(server, `drop database ${name} with (force)`)) }
}
