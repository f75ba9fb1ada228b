// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { shownText, signInAs, type Visitor } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000
const ago = (days: number) => formatTimestamp(now - days * DAY_MS)
const graded = (id: number, percentGrade: number) => ({
  TrainerSegment: [records.trainerSegment(id, { percentGrade })],
})

/** Of ann, a session of the year 2062; of robin, ends before starts. */
const history: readonly object[] = [
  records.account(1, 'ann'),
  records.trainingTemplate(1, 1),
  records.trainingSession(1, 1, { created_at: ago(1), ...graded(1, 60) }),
  records.trainingSession(63, 1, {
    name: 'Basics',
    created_at: '2062-02-16T18:00:00Z',
    repsMeasured: 190,
    ...graded(63, 99),
  }),
  records.lockSession(51, 1, { startDate: ago(9), endDate: ago(8), LockSegment: events(1, ago(9)) }),
  records.lockSession(52, 1, { startDate: ago(5), endDate: '2062-01-01T00:00:00Z', LockSegment: events(2, ago(5)) }),
  records.lockSession(53, 1, { startDate: '2062-01-01T00:00:00Z', endDate: '2062-01-02T00:00:00Z', LockSegment: [] }),
  records.account(2, 'robin'),
  records.lockSession(71, 2, { startDate: ago(9), endDate: ago(10), LockSegment: events(3, ago(9)) }),
  records.lockSession(72, 2, {
    lockState: 'locked',
    isActive: true,
    startDate: ago(3),
    endDate: ago(4),
    LockSegment: events(4, ago(3)),
  }),
]

function events(id: number, at: string) {
  return [records.lockSegment(id, 'start', at, true)]
}

describe('what cannot be meant', () => {
  let service: TestService
  let ann: Visitor
  let robin: Visitor
  before(async () => {
    service = await startService(history, unlimited)
    ann = await signInAs(service, 'ann')
    robin = await signInAs(service, 'robin')
  })
  after(() => service[Symbol.asyncDispose]())

  test('a session on a day after tomorrow is not the last one, no best one, and makes no streak', async () => {
    const { data } = (await service.fetch('/api/v1/status', 'ann')).body
    assert.equal(data.lastSessionAt, ago(1))
    assert.deepEqual([data.bestGradePercent, data.longestStreakDays, data.streakDays], [60, 1, 1])
    const { text } = await ann.get('/')
    assert.match(text, /<a href="\/training\/1">Last session<\/a>/)
    assert.doesNotMatch(text, /2062|\/training\/63|\/locks\/5[23]/)
    assert.match(
      text,
      /<a href="\/locks\/51">Last lock<\/a><\/h2>\s*<dl class="stats">\s*<div class="stat"><dt>Ended<\/dt>/,
    )
    assert.doesNotMatch(shownText(await ann.get('/year')), /190|2062|4 d 2\d h/)
    assert.match((await ann.get('/programs')).text, /yesterday/)
  })

  test('the order of lists and of the newest record stays, and the page of the record says that its date is in the future', async () => {
    assert.equal((await service.fetch('/api/v1/dtt/sessions/latest', 'ann')).body.data.id, 63)
    assert.match((await service.fetch('/api/v1/dtt/sessions?limit=1', 'ann')).text, /"id":63,"bubble_id"/)
    for (const path of ['/training/63', '/locks/52', '/locks/53']) {
      assert.match((await ann.get(path)).text, />Date in the future</, path)
    }
    for (const path of ['/training/1', '/locks/51']) {
      assert.doesNotMatch((await ann.get(path)).text, /Date in the future/, path)
    }
  })

  test('it stretches no period', async () => {
    assert.doesNotMatch((await ann.get('/training?range=all')).text, /to=20(2[89]|[3-9]\d)-/)
    assert.equal((await ann.get('/year/2062')).status, 404)
  })

  test('an end or a planned end before the start is none, for status, figures and pages; the record keeps it', async () => {
    const { data } = (await service.fetch('/api/v1/status', 'robin')).body
    assert.deepEqual([data.plannedEnd, data.plannedEndPassed, data.locked], [null, null, true])
    assert.match((await robin.get('/locks/71')).text, /end not known/)
    assert.match((await robin.get('/locks/72')).text, /<dt>Planned end<\/dt><dd>–/)
    const lines = (await robin.get('/locks.csv')).text.split('\r\n')
    assert.match(lines.find(line => line.startsWith('71,')) ?? '', /^71,Lock 71,Completed,[^,]+,,/)
    assert.equal((await service.fetch('/api/v1/lkbx/sessions/71', 'robin')).body.data.endDate, ago(10))
  })
})
