import { test } from 'node:test'
import { world } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { checkRandomStores } from '../support/status-stores.ts'

test('in 10,000 random stores no status holds a name, an identifier of a record, or an end that is hidden', async () => {
  await using service = await startService(world, unlimited)
  await checkRandomStores(service, 10_000, 2)
})
