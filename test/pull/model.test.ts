import { test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import { checkSchedules } from '../support/sources/model-runs.ts'

test('after any schedule of changes, failures and stops, a quiet full round leaves the store as the source is', () =>
  checkSchedules(postgresUrl === undefined ? 12 : 5))
