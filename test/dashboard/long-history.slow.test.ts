import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newDatabase } from '../support/databases.ts'
import { fillLong, longPaths, maxMegabytes, serveLong } from '../support/long-history.ts'

/** How many requests of another account must be answered while all sessions are read. */
const MIN_OTHERS = 30

const onLinux = { skip: process.platform === 'linux' ? false : 'there is no /proc' }

test(
  'pages and downloads of 100,000 training sessions take less than 60 MB each, the export less than 20 MB, and do not block other requests',
  onLinux,
  async t => {
    const database = await newDatabase()
    t.after(() => database.remove())
    await using service = await serveLong(database, await fillLong(database))
    for (const [path, readsAll = false] of longPaths) {
      const { status, before, peak, others } = await service.visit(path)
      assert.equal(status, 200, path)
      t.diagnostic(`${path}: ${before} to ${peak} MB, ${others.length} others`)
      assert.ok(peak - before < maxMegabytes(path), `${path}: ${before} to ${peak} MB`)
      for (const other of others) assert.equal(other.status, 200, path)
      if (readsAll) assert.ok(others.length >= MIN_OTHERS, `${path}: ${others.length} others`)
    }
  },
)
