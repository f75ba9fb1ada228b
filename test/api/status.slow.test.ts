import { test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import { world } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { checkRandomStores } from '../support/status-stores.ts'

// What is left out does not depend on the engine.
const stores = postgresUrl === undefined ? 10_000 : 500

test(`in ${stores} random stores no status holds a name, an identifier of a record, or an end that is hidden`, async () => {
  await using service = await startService(world, unlimited)
  await checkRandomStores(service, stores, 2)
})
