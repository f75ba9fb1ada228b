// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { cellTexts, figures, shownText, tableRows, tilesOf, type Visitor, signInAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000
const ago = (days: number) => formatTimestamp(now - days * DAY_MS)

/** No distance is known, and one lock has no events. */
const history: readonly object[] = [
  records.account(1, 'ann'),
  // One in the current week on any day of it, so that no distance of the week is not 0.
  ...[0, 10, 30, 33].map((days, index) =>
    records.trainingSession(index + 1, 1, {
      passed: index !== 1,
      created_at: ago(days),
      TrainerSegment: [
        segment(10 * index + 1, 'training', 80, 30),
        segment(10 * index + 2, 'endurance', 40, 5),
        segment(10 * index + 3, 'endurance', 50, 6),
      ],
    }),
  ),
  records.lockSession(51, 1, { name: 'Without events', startDate: ago(9), endDate: ago(8), LockSegment: [] }),
  records.lockSession(52, 1, {
    name: 'Planned',
    lockState: 'locked',
    isActive: true,
    startDate: ago(3),
    endDate: ago(-3),
    LockSegment: [records.lockSegment(1, 'start', ago(3), true)],
  }),
]

function segment(id: number, type: string, percentGrade: number, repsMeasured: number) {
  return records.trainerSegment(id, { type, percentGrade, repsMeasured, distanceTravelled: null })
}

describe('pages say no more than is known', () => {
  let service: TestService
  let ann: Visitor
  before(async () => {
    service = await startService(history, unlimited)
    ann = await signInAs(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())
  const isKnownUpTo = (time: number) => service.store.db.updateTable('account').set({ as_of: time }).execute()

  test('a lock without events has no time under lock, which is not 0', async () => {
    await isKnownUpTo(now)
    const { text } = await ann.get('/locks/51')
    assert.match(text, /<dt>Lasted<\/dt><dd>1\sd<\/dd>/)
    assert.match(text, /<dt>Breaks<\/dt><dd>–/)
    const rows = tableRows((await ann.get('/locks')).text, 'session-table') ?? []
    const cells = cellTexts(rows.find(row => row.includes('Without events')) ?? '')
    // How long it lasted; then the breaks and the longest stretch.
    assert.match(cells.slice(3).join(' '), /^1\sd –  –$/)
  })

  test('an unknown distance is not compared with what is usual, and an unknown lock is empty in a file', async () => {
    const { text } = await ann.get('/training?range=12w&measure=distance')
    const [card = ''] = /<section[^>]* id="distance"[^]*?<\/section>/.exec(text) ?? []
    assert.match(card, /No distance is known in this period\./)
    assert.doesNotMatch(card, /usual/)
    assert.ok(figures(text, 'Distance (m)').includes(0), 'a week without sessions has no distance')
    assert.ok(figures(text, 'Distance (m)').some(value => value === null))
    const lines = (await ann.get('/locks.csv')).text.split('\r\n')
    assert.match(lines.find(line => line.includes('Without events')) ?? '', /,,,$/)
    assert.match(lines.find(line => line.includes('Planned,')) ?? '', /,259\d{3},0,0$/)
  })

  test('no page that shows these records shows 0 for what is not known', async () => {
    await isKnownUpTo(now)
    const paths = ['/', '/training?range=12w', '/training/1', '/locks', '/locks/51', '/year']
    for (const path of paths) {
      const words = (await ann.get(path)).text.replaceAll(/<script[^]*?<\/script>|<[^>]*>/g, ' ')
      assert.equal(/.{0,60}\b0(\.0)?\s(m|km|ft|s|min)\b/.exec(words)?.[0], undefined, path)
    }
  })

  test('an active lock with an end in the future runs until then', async () => {
    await isKnownUpTo(now)
    assert.match(shownText(await ann.get('/locks/52')), / – now /)
    assert.match(shownText(await ann.get('/locks')), /Locked, day\s\d+/)
  })

  test('the state of an active lock says how old it is, and time after that is not counted', async () => {
    await isKnownUpTo(now - 2 * DAY_MS)
    for (const path of ['/', '/locks', '/locks/52']) {
      assert.match((await ann.get(path)).text, /as of 2 days ago/, path)
    }
    const ticks = / data-since=/
    assert.match(shownText(await ann.get('/locks')), /Locked, day\s2\sof\s6 as of 2 days ago/)
    for (const path of ['/', '/locks/52']) {
      const { text } = await ann.get(path)
      assert.match(shownText({ text }), /1 d without a break/, path)
      assert.match(text, /in 5\sd/, path)
      assert.doesNotMatch(text, ticks, path)
    }
    await isKnownUpTo(now)
    for (const path of ['/', '/locks/52']) assert.match((await ann.get(path)).text, ticks, path)
  })

  test('a page that is filtered by a kind shows that kind alone, and says that results are of whole sessions', async () => {
    const { text } = await ann.get('/training?range=all&type=endurance')
    assert.match(text, /are of segments of the type Endurance only\. Results are of whole sessions\./)
    assert.deepEqual(figures(text, 'Grade', 'grades'), [45, 45, 45, 45])
    const tiles = tilesOf(text)
    assert.deepEqual([tiles.get('Median grade'), tiles.get('Repetitions'), tiles.get('Distance')], ['45 %', '44', '–'])
    assert.equal(tiles.get('Sessions'), '4')
    assert.match(shownText({ text }), /Sessions 4 3 passed \( 75 % \)/)
    const sum = figures(text, 'Repetitions').reduce<number>((total, value) => total + (value ?? 0), 0)
    assert.equal(sum, 4 * 11)
    // The grade, the repetitions and the distance of each session.
    assert.deepEqual(
      tableRows(text, 'session-table')
        ?.map(row => cellTexts(row))
        .map(([, , grade, ...amounts]) => [grade?.replace(/.*assed\s/, ''), ...amounts]),
      Array.from({ length: 4 }, () => ['45 %', '11', '–']),
    )
  })
})
