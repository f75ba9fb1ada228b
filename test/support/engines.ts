import { test } from 'node:test'
import { newPostgres, newSqlite, postgresUrl, type TestDatabase } from './databases.ts'
import { sharedServer, testOnPostgres } from './postgres.ts'

/** Registers a test twice: with an empty SQLite database, and with an empty one on the PostgreSQL server of this file. */
export function testOnBoth(title: string, work: (database: TestDatabase) => Promise<void>) {
  test(`${title} (SQLite)`, () => using(newSqlite(), work))
  testOnEmptyPostgres(`${title} (PostgreSQL)`, work)
}

/** Registers a test with an empty database of the engine of this run. */
export function testOnEmpty(title: string, work: (database: TestDatabase) => Promise<void>) {
  test(title, async () => using(postgresUrl === undefined ? newSqlite() : await newPostgres(postgresUrl), work))
}

/** Registers a test with an empty database on the PostgreSQL server of this file. */
export function testOnEmptyPostgres(title: string, work: (database: TestDatabase) => Promise<void>) {
  testOnPostgres(title, async () => using(await emptyPostgres(), work))
}

/** An empty database on the server of this file. */
export async function emptyPostgres(): Promise<TestDatabase> {
  const { url } = await sharedServer()
  return newPostgres(url)
}

async function using(database: TestDatabase, work: (database: TestDatabase) => Promise<void>) {
  try {
    await work(database)
  } finally {
    await database.remove()
  }
}
