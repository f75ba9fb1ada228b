// engine: sqlite, slowly postgres
import { test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import { checkSchedules, runSchedule } from '../support/sources/model-runs.ts'

// The slow tests run many.
test('after any schedule of changes, failures and stops, an undisturbed full round makes the store equal to the source', () =>
  checkSchedules(postgresUrl === undefined ? 3 : 5))

test('a record that did not answer in one round is found gone when the source has removed it', () => {
  const program = { does: 'add', kind: 'training-template', ageHours: 0, isMine: true, isOpen: false } as const
  const round = { waitHours: 0, before: [], full: false, during: [], ends: undefined, faults: [] }
  return runSchedule({ identity: '/users/me', unknownParameters: 'ignored', maxLimit: 12 }, 0, [
    { ...round, before: [program] },
    // Each round reads a little less, so the last one that reached the record got no response for it.
    ...Array.from({ length: 12 }, (_, index) => ({
      ...round,
      full: true,
      ends: { request: 11 - index, how: 'away' as const },
    })),
    { ...round, before: [{ does: 'remove', pick: 0 }] },
  ])
})
