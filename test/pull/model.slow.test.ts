// engine: sqlite
import { test } from 'node:test'
import { checkSchedules } from '../support/sources/model-runs.ts'
import { sweep } from '../support/sweeps.ts'

test('after many schedules of changes, failures and stops, the store equals the source', () =>
  checkSchedules(sweep(12, 10_000)))
