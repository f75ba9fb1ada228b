import { test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import { checkRandomStores } from '../support/status-stores.ts'

// What is left out does not depend on the engine.
const stores = postgresUrl === undefined ? 10_000 : 1000

test(`in ${stores} random stores no status contains a name, an identifier of a record, or a hidden end`, () =>
  checkRandomStores(stores, 2))
