// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seeded } from '../../src/demo/random.ts'
import { longestStretches } from '../../src/stats/bests.ts'
import { lockHistory } from '../../src/stats/lock-history.ts'
import { withoutPractice } from '../../src/stats/lock-statistics.ts'
import { locksSince } from '../../src/stats/lock-queries.ts'
import { account, lockSegment, lockSession, lockTemplate } from '../support/records.ts'
import { startService } from '../support/service.ts'

const access = { owner: 1, start: Number.MIN_SAFE_INTEGER }
const HOUR = 3_600_000
const FIRST = Date.parse('2026-01-01T00:00:00Z')
const text = (hour: number) => new Date(FIRST + hour * HOUR).toISOString()

test('the longest locked stretch does not depend on what was cached, while locks run and when rules change', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const random = seeded(seed)
    const sessions = Array.from({ length: 30 }, (_, index) => {
      const start = random.whole(0, 400)
      const end = start + random.whole(1, 40)
      const isActive = random.chance(0.1)
      return lockSession(
        index + 1,
        1,
        {
          startDate: text(start),
          ...(isActive ? { isActive, lockState: 'locked' } : { endDate: text(end) }),
          LockSegment: [
            lockSegment(index * 3 + 1, 'start', text(start), true),
            lockSegment(index * 3 + 2, 'break', text((start + end) / 2), false),
            lockSegment(index * 3 + 3, 'locked', text((start + end) / 2 + 0.5), true),
          ],
        },
        { templateId: random.whole(41, 43) },
      )
    })
    const templates = [41, 42, 43].map(id => lockTemplate(id, 1, { isTestLock: id === 43 }))
    await using service = await startService([account(1, 'ann'), ...templates, ...sessions])
    const { store } = service
    const check = async (hour: number) => {
      const until = FIRST + hour * HOUR
      const computed = longestStretches(withoutPractice(await locksSince(store, access, until)), until)
      const longest = await (await lockHistory(store, access)).longest(until, Infinity)
      const figures = (stretches: readonly { seconds: number; end: number }[]) =>
        stretches.map(({ seconds, end }) => ({ seconds, end }))
      assert.deepEqual(figures(longest), figures(computed), `seed ${seed}, hour ${hour}`)
    }
    for (const hour of [300, 500, 200, 350, 1000, 0]) await check(hour)
    await store.db.updateTable('lock_template').set({ is_test_lock: 1 }).where('id', '=', 42).execute()
    await check(1000)
  }
})

test('locks are read in short parts, however many ended before the time that is asked for', async () => {
  const random = seeded(5)
  const LOCKS = 4500
  const sessions = Array.from({ length: LOCKS }, (_, index) => {
    // Several start at once, and some last longer than many that come later.
    const start = Math.floor(index / 3)
    const end = start + (random.chance(0.01) ? random.whole(1, LOCKS) : 1)
    const isActive = index === 0
    return lockSession(index + 1, 1, {
      startDate: text(start),
      ...(isActive ? { isActive, lockState: 'locked' } : { endDate: text(end) }),
      LockSegment: [lockSegment(index + 1, 'start', text(start), true)],
    })
  })
  await using service = await startService([account(1, 'ann'), ...sessions])
  const { store } = service
  let reads = 0
  const counting: typeof store = {
    ...store,
    read(...asked) {
      reads += 1
      return store.read(...asked)
    },
  }
  const until = FIRST + LOCKS * HOUR
  const all = await locksSince(store, access, until)
  assert.deepEqual(
    all.map(({ id }) => id).toSorted((a, b) => a - b),
    sessions.map((_, index) => index + 1),
  )
  for (const hour of [0, 700, 1499, 3000]) {
    const from = FIRST + hour * HOUR
    reads = 0
    const found = await locksSince(counting, access, until, from)
    assert.deepEqual(
      found,
      all.filter(({ endAt }) => endAt === null || endAt >= from),
      `from hour ${hour}`,
    )
    assert.ok(reads > LOCKS / 2000, `${reads} reads`)
  }
})

test('the longest times of locks that are all equally long are found by reading each lock a few times', () => {
  let reads = 0
  const sessions = Array.from({ length: 500 }, (_, index) => {
    const [start, end] = [2 * index * HOUR, (2 * index + 1) * HOUR]
    return {
      at: start,
      endAt: end,
      get intervals() {
        reads += 1
        return [{ start, end, locked: true, type: 'lock' }]
      },
    }
  })
  assert.equal(longestStretches(sessions, 1000 * HOUR).length, 500)
  assert.ok(reads < 5 * sessions.length, `${reads} reads of ${sessions.length} locks`)
})
