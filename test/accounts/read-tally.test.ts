import { test } from 'node:test'
import { seeded } from '../../src/demo/random.ts'
import { compareReads } from '../support/read-tally.ts'

// engine: any

const count = Number(process.env['READS'] ?? 300)

test(`after ${count} reads of any route and page, the log of each owner has what was read, and nothing else`, () =>
  compareReads(count, seeded(7)))
