// engine: any
import { testOnEmptyPostgres } from '../support/engines.ts'
import { testSignal, twoWorkersServeAsOne } from '../support/workers.ts'

testOnEmptyPostgres(
  'two workers serve as one: started, restarted, replaced, told of changes, stopped (PostgreSQL)',
  twoWorkersServeAsOne,
)

testSignal('an old one goes')
