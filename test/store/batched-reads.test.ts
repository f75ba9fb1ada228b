import { promisedReads, tryReads } from '../support/batched-reads.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'

// engine: sqlite

for (const promised of promisedReads) {
  testOnEmptyPostgres(promised.title, ({ url }) => tryReads(promised, url))
}
