import { test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import { checkRandomStores } from '../support/status-stores.ts'
import { sweep } from '../support/sweeps.ts'

// What is left out does not depend on the engine.
const stores = postgresUrl === undefined ? sweep(250, 10_000) : sweep(25, 1000)

test(`in ${stores} random stores no status contains a name, an identifier of a record, or a hidden end`, () =>
  checkRandomStores(stores, 2))
