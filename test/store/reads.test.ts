// engine: sqlite
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { open, type Store, TooLongError } from '../../src/store/index.ts'
import { query } from '../../src/store/query.ts'
import { newDatabase } from '../support/databases.ts'

const usernames = query<object, { username: string }>(() => sql`select username from account order by id`)
const tooLong = query<object, object>(() => sql`select printf('%.*c', 5000000, 'x') as text`)

async function withStore(writerThread: boolean, work: (store: Store, path: string) => Promise<void>) {
  const { url, remove } = await newDatabase()
  const store = await open(url, { busyTimeoutMs: 4000, writerThread })
  try {
    await work(store, url.slice('sqlite:'.length))
  } finally {
    await store.close()
    await remove()
  }
}

const named = async (store: Store) => (await store.read(usernames, {})).map(({ username }) => `${username},`).join('')

const insertAccount = (id: number) =>
  `insert into account (id, username, document, etag) values (${id}, '${id}', '{}', 'e')`

const write = (store: Store, id: number) => sql.raw(insertAccount(id)).execute(store.db)

test('a store reads its own writes at once', () =>
  withStore(false, async store => {
    for (let id = 1; id <= 5; id += 1) {
      const before = await named(store)
      await write(store, id)
      assert.equal(await named(store), `${before}${id},`)
    }
  }))

test('a store reads at once what its thread has written, even in the turn of a read that began before', () =>
  withStore(true, async store => {
    for (let id = 1; id <= 5; id += 1) {
      const before = await named(store)
      const after = Promise.withResolvers<string>()
      // Both run in one turn of the event loop, which also learns of the end of the write.
      setTimeout(() => {
        write(store, id).then(() => after.resolve(named(store)), after.reject)
      }, 1)
      setTimeout(() => {
        void named(store)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      }, 1)
      assert.equal(await after.promise, `${before}${id},`)
    }
  }))

test('reads of one turn see one state of the database, and those of the next what others have committed', () =>
  withStore(true, async (store, path) => {
    using other = new DatabaseSync(path)
    await nextTurn()
    assert.equal(await named(store), '')
    other.exec(insertAccount(1))
    assert.equal(await named(store), '')
    await nextTurn()
    assert.equal(await named(store), '1,')
  }))

test('after a read that failed, others of the same turn and of later ones see what is committed', () =>
  withStore(true, async (store, path) => {
    using other = new DatabaseSync(path)
    assert.throws(() => store.read(tooLong, {}), TooLongError)
    assert.equal(await named(store), '')
    other.exec(insertAccount(1))
    await nextTurn()
    assert.equal(await named(store), '1,')
  }))

test('a read does not keep the write-ahead log from being emptied', () =>
  withStore(true, async (store, path) => {
    using other = new DatabaseSync(path)
    other.exec(insertAccount(1))
    await named(store)
    await nextTurn()
    assert.equal(other.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'], 0)
  }))
