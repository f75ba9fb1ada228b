// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordList } from '../../src/resources/lists/record-lists.ts'
import type { Store } from '../../src/store/index.ts'
import { query } from '../../src/store/query.ts'

test('a misspelt column or parameter of a query does not compile', () => {
  const lists: RecordList<'training_session'>[] = [
    // @ts-expect-error there is no such column
    { table: 'training_session', order: 'newest', filters: { pased: 1 } },
    // @ts-expect-error the column is of another table
    { table: 'training_session', order: 'newest', filters: { lock_state: 'completed' } },
    // @ts-expect-error the column holds integers
    { table: 'training_session', order: 'newest', filters: { passed: 'true' } },
    // @ts-expect-error whose rows are shown is not a filter
    { table: 'training_session', order: 'newest', filters: { owner_id: 1 } },
  ]
  assert.equal(lists.length, 4)
  // @ts-expect-error the query takes no such parameter
  assert.ok(query<{ owner: number }, number>(param => param('ownr')))
  const byOwner = query<{ owner: number }, number>(param => param('owner'))
  // @ts-expect-error the parameter has another name
  const read = (store: Store) => store.read(byOwner, { ownr: 1 })
  assert.ok(read)
})
