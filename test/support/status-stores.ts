import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { noteChangedRecords } from '../../src/archive/revisions.ts'
import { api } from '../../src/contract/index.ts'
import { formatTimestamp } from '../../src/contract/time.ts'
import { recordTables } from '../../src/store/tables.ts'
import {
  account,
  lockSegment,
  lockSession,
  lockTemplate,
  partnership,
  trainerSegment,
  trainingSession,
} from './records.ts'
import { startService, type TestService, unlimited } from './service.ts'
import { type Random, seeded } from './statistics.ts'

/** Stores with random records, in which texts and identifiers differ from everything that a status may show. */

const MARK = 'Zq7Mark'

/** Identifiers, instants and texts that no status may show to a reader, beside the records themselves. */
interface RandomRecords {
  readonly lines: readonly object[]
  readonly ids: readonly number[]
  /** Planned ends that the owner may not see. */
  readonly hidden: readonly string[]
}

let nextId = 71_000_001

/** Records of an account and of its partner. */
function randomRecords(
  random: Random,
  now: number,
  accounts: readonly [owner: number, partner: number],
): RandomRecords {
  const ids: number[] = []
  const newId = () => {
    ids.push((nextId += 2))
    return nextId
  }
  const below = (limit: number) => Math.floor(random() * limit)
  const before = (hours: number) => formatTimestamp(now - below(hours * 3600) * 1000 - 1000)
  const lines: object[] = []
  const hidden: string[] = []
  for (const owner of accounts) {
    const templates = Array.from({ length: below(3) }, () => {
      const id = newId()
      const isTimeDisplayed = random() < 0.5
      lines.push(lockTemplate(id, owner, { name: MARK, isTimeDisplayed, isTestLock: random() < 0.3 }))
      return { id, isTimeDisplayed }
    })
    const locks = Array.from({ length: below(3) }, () => {
      const template = random() < 0.8 ? templates[below(templates.length)] : undefined
      const isActive = random() < 0.6
      const startDate = before(100)
      const endDate = formatTimestamp(now + below(100 * 3600) * 1000 + 999)
      lines.push(
        lockSession(
          newId(),
          owner,
          {
            name: MARK,
            bubbleId: MARK,
            publicId: MARK,
            isActive,
            lockState: random() < 0.5 ? 'locked' : 'break',
            duration: 40_000_007,
            startDate,
            endDate: isActive ? endDate : startDate,
            LockSegment: Array.from({ length: below(4) }, () => {
              const isLocked = random() < 0.5
              return lockSegment(newId(), isLocked ? 'locked' : 'break', before(90), isLocked)
            }),
          },
          template === undefined ? {} : { templateId: template.id },
        ),
      )
      return { isActive, startDate, endDate, isHidden: template?.isTimeDisplayed === false }
    })
    if (owner === accounts[0]) {
      for (const { isActive, isHidden, endDate } of locks) if (isActive && isHidden) hidden.push(endDate)
    }
    for (let left = below(6); left > 0; left -= 1) {
      lines.push(
        trainingSession(newId(), owner, {
          name: MARK,
          bubble_id: MARK,
          created_at: before(600),
          trainer_id: newId(),
          settings_id: newId(),
          passed: random() < 0.5,
          TrainerSegment: Array.from({ length: below(4) }, () =>
            trainerSegment(newId(), {
              type: MARK,
              percentGrade: below(101),
              ...(random() < 0.5 ? { distanceTravelled: below(90) } : {}),
            }),
          ),
        }),
      )
    }
  }
  return { lines, ids, hidden }
}

/** Removes all records, puts others in their place, and makes them known up to now. */
export async function replaceRecords({ store, ...service }: TestService, lines: readonly object[]) {
  for (const table of ['lock_template', 'lock_session', 'training_session'] as const) {
    await store.db.deleteFrom(table).execute()
  }
  for (const table of recordTables) await noteChangedRecords(store.db, table, sql`select id from account`)
  await service.import(lines)
  await store.db.updateTable('account').set({ as_of: Date.now() }).execute()
}

const ALLOWED = new Set(Object.keys(api.getStatus.data.properties))

/** Checks that a status holds nothing but scalars, no text, no identifier but its owner's, and nothing hidden. */
function checkNothingTold(text: string, { ids, hidden }: RandomRecords, isOwner: boolean) {
  const { data } = JSON.parse(text) as { data: Record<string, unknown> }
  for (const [key, value] of Object.entries(data)) {
    assert.ok(ALLOWED.has(key), key)
    assert.ok(value === null || typeof value !== 'object', key)
  }
  assert.ok(!text.includes(MARK), text)
  for (const id of ids) assert.ok(!text.includes(String(id)), `${id} in ${text}`)
  if (isOwner) for (const end of hidden) assert.notEqual(data['plannedEnd'], end)
  if (data['timeHidden'] === true)
    assert.deepEqual(
      [data['plannedEnd'], data['plannedEndPassed'], data['remainingSeconds'] ?? null],
      [null, null, null],
    )
  assert.ok(Buffer.byteLength(text) <= 900)
}

/** Checks the statuses that the owner and a partner get from this number of stores. */
export async function checkRandomStores(count: number, seed: number) {
  const random = seeded(seed)
  // An import takes about as long for many owners as for one.
  const pairs = Array.from({ length: Math.min(count, 100) }, (_, index): [number, number] => [
    2 * index + 1,
    2 * index + 2,
  ])
  const people = pairs.flatMap(([owner, partner]) => [
    account(owner, `user-${owner}`),
    account(partner, `user-${partner}`),
    partnership(owner, partner),
  ])
  await using service = await startService(people, unlimited)
  const tokens = await Promise.all(pairs.map(pair => Promise.all(pair.map(id => service.token(`user-${id}`)))))
  for (let done = 0; done < count; done += pairs.length) {
    const stores = pairs.map(pair => randomRecords(random, Date.now(), pair))
    await replaceRecords(
      service,
      stores.flatMap(({ lines }) => lines),
    )
    for (const [index, records] of stores.entries()) {
      const [owner, partner] = tokens[index] ?? []
      // With the seconds, it has everything that it has without them.
      for (const query of index % 10 === 0 ? ['relative=seconds', ''] : ['relative=seconds']) {
        const own = await service.fetch(`/api/v1/status?${query}`, owner)
        assert.equal(own.status, 200)
        checkNothingTold(own.text, records, true)
        const shared = await service.fetch(`/api/v1/status?ownerId=${pairs[index]?.[0]}&${query}`, partner)
        assert.equal(shared.status, 200)
        checkNothingTold(shared.text, records, false)
        assert.equal(shared.body.data.timeHidden, false)
      }
    }
  }
}
