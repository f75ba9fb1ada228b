// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordPage } from '../../src/resources/lists/pages.ts'
import type { RecordList } from '../../src/resources/lists/record-lists.ts'
import type { Store } from '../../src/store/index.ts'
import { query } from '../../src/store/query.ts'
import { partnership, trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const endpoint = { listOf: () => 'sessions' }

const sessions = [
  trainingSession(1, 1, { settings_id: 7, passed: true, created_at: '2026-02-01T00:00:00Z' }),
  trainingSession(2, 1, { settings_id: 7, passed: true, created_at: '2026-02-02T00:00:00Z' }),
  trainingSession(3, 1, { settings_id: 7, passed: true, created_at: '2026-02-03T00:00:00Z' }),
  trainingSession(4, 1, { settings_id: 7, passed: false, created_at: '2026-02-02T00:00:00Z' }),
  trainingSession(5, 1, { settings_id: 8, passed: true, created_at: '2026-02-02T00:00:00Z' }),
  trainingSession(6, 2, { settings_id: 7, passed: true, created_at: '2026-02-02T00:00:00Z' }),
  trainingSession(7, 3, { settings_id: 7, passed: true, created_at: '2026-02-02T00:00:00Z' }),
]

test('a list combines any number of filters with owners, a range of time and a page', async () => {
  await using service = await startService([...world, partnership(3, 2), ...sessions])
  const idsOf = async (
    filters: RecordList<'training_session'>['filters'] & object,
    owners: readonly number[],
    { from, before, offset }: { from?: string; before?: string; offset?: number } = {},
  ) => {
    const list: RecordList<'training_session'> = { table: 'training_session', order: 'newest', filters }
    const params = {
      limit: 10,
      offset,
      cursor: undefined,
      from: from === undefined ? undefined : Date.parse(from),
      to: before === undefined ? undefined : { before: Date.parse(before), isDay: false },
    }
    const page = await recordPage(service, list, { owners }, params, endpoint)
    assert.ok(page.kind === 'page')
    return (JSON.parse(page.data.join('')) as { data: { id: number }[] }).data.map(({ id }) => id)
  }
  const second = { from: '2026-02-02T00:00:00Z', before: '2026-02-03T00:00:00Z' }
  for (const [found, expected] of [
    [await idsOf({}, [1, 2]), [3, 6, 5, 4, 2, 1]],
    [await idsOf({ passed: 1 }, [1, 2]), [3, 6, 5, 2, 1]],
    [await idsOf({ passed: 1, settings_id: 7 }, [1, 2]), [3, 6, 2, 1]],
    [await idsOf({ passed: undefined, settings_id: 8 }, [1, 2]), [5]],
    [await idsOf({ passed: 1, settings_id: 7 }, [1, 2], second), [6, 2]],
    [await idsOf({ settings_id: 7, passed: 1 }, [1], second), [2]],
    [await idsOf({ passed: 1, settings_id: 7, segments: 1, approximate: 0 }, [1, 2, 3], second), [7, 6, 2]],
    [await idsOf({ passed: 1, settings_id: 7, segments: 2 }, [1, 2, 3], second), []],
    [await idsOf({ passed: 1, settings_id: 7 }, [1, 2, 3], { ...second, offset: 1 }), [6, 2]],
  ] as const) {
    assert.deepEqual(found, expected)
  }
})

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
