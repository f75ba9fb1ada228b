import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newDatabase } from '../support/databases.ts'
import { fillLong, longPaths, maxMegabytes, serveLong } from '../support/long-history.ts'
import { needsProc } from '../support/programs.ts'

/**
 * How long others may wait while all sessions are read, in milliseconds: for some turns, which have the same length on any machine, and for
 * what a request takes in an idle service, which has not. How many requests that makes says how long the read took, not how long others waited.
 */
const maxWait = (idleWait: number) => 50 + 10 * idleWait

test(
  'pages and downloads of 20,000 training sessions take less than 60 MB each, the export less than 20 MB, and do not block other requests',
  needsProc,
  async t => {
    const database = await newDatabase()
    t.after(() => database.remove())
    await using service = await serveLong(database, await fillLong(database))
    for (const [path, readsAll = false] of longPaths) {
      let visit = await service.visit(path)
      // The engine of JavaScript may just have given back memory that it takes again.
      if (visit.peak - visit.before >= maxMegabytes(path)) visit = await service.visit(path)
      const { status, before, peak, others, idleWait, wait } = visit
      assert.equal(status, 200, path)
      const waits = `${others.length} others waited ${wait.toFixed(1)} ms instead of ${idleWait.toFixed(1)} ms`
      t.diagnostic(`${path}: ${before} to ${peak} MB, ${waits}`)
      assert.ok(peak - before < maxMegabytes(path), `${path}: ${before} to ${peak} MB`)
      for (const other of others) assert.equal(other.status, 200, path)
      if (readsAll) assert.ok(wait < maxWait(idleWait), `${path}: ${waits}`)
    }
  },
)
