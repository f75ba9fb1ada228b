// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { timeTicks } from '../../src/dashboard/charts/plane.ts'
import { setPreferences } from '../../src/accounts/preferences.ts'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { boxes, figures, shownText, signInAs, type Visitor } from '../support/dashboard.ts'
import { MAX_PAGE_BYTES, MAX_PAGE_NODES, nodesOf } from '../support/page-budgets.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000
const ago = (days: number) => formatTimestamp(now - days * DAY_MS)

/** How many points a line has, or how many dots there are, in each of its unbroken parts. */
function pathsOf(page: string, picture: string, look: string): number[] {
  const [, card = ''] = new RegExp(`<section[^>]* id="${picture}"([^]*?)</section>`).exec(page) ?? []
  const [, path = ''] = new RegExp(`<path class="${look}" d="([^"]*)"`).exec(card) ?? []
  return path
    .split('M')
    .slice(1)
    .map(part => part.split('L').length)
}

/** Two sessions a week with more repetitions each week, nothing for five weeks, and a session on each of the last ten days. */
function* history() {
  yield records.account(1, 'ann')
  const days = [
    ...Array.from({ length: 40 }, (_, index) => 200 - 3.5 * index),
    ...Array.from({ length: 10 }, (_, index) => 10 - index),
  ]
  for (const [index, day] of days.entries()) {
    yield records.trainingSession(index + 1, 1, {
      created_at: formatTimestamp(now - day * DAY_MS - 60_000),
      passed: index % 2 === 0,
      repsMeasured: 40 + index,
      TrainerSegment: [records.trainerSegment(index + 1, { type: 'training', percentGrade: 50 + index })],
    })
  }
  // 25 minutes, 23 hours, 24 hours, 5 days and 2 years.
  for (const [index, minutes] of [25, 23 * 60, 24 * 60, 5 * 24 * 60, 2 * 365 * 24 * 60].entries()) {
    const [start, end] = [ago(800), formatTimestamp(now - 800 * DAY_MS + minutes * 60_000)]
    yield records.lockSession(index + 1, 1, {
      startDate: start,
      endDate: end,
      isActive: false,
      LockSegment: [
        records.lockSegment(2 * index + 1, 'start', start, true),
        records.lockSegment(2 * index + 2, 'unlocked', end, false),
      ],
    })
  }
  yield records.trainingTemplate(1, 1, { Segment: [] })
}

describe('pictures', () => {
  let service: TestService
  let ann: Visitor
  before(async () => {
    service = await startService([...history()], unlimited)
    ann = await signInAs(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())
  const pageOf = async (path: string) => (await ann.get(path)).text

  test('bars are as high as the figures of their weeks', async () => {
    const text = await pageOf('/training?range=6m')
    const whole = boxes(text, 'repetitions', 'solid')
    const weeks = figures(text, 'Repetitions')
    const reps = weeks.filter(value => (value ?? 0) > 0)
    const heights = whole.map(([, top = 0, , bottom = 0]) => bottom - top)
    // The first and the last week may be cut, and are lighter then.
    assert.ok(whole.length >= reps.length - 2 && whole.length > 15)
    const scale = Math.max(...heights) / Math.max(...weeks.slice(0, -1).map(value => value ?? 0))
    const known = reps.map(value => (value ?? 0) * scale)
    for (const height of heights)
      assert.ok(
        known.some(one => Math.abs(one - height) < 3),
        `${height}`,
      )
  })

  test('behind the bars is what was usual in the weeks before, and a sentence and the figures say how the last one compares', async () => {
    const text = await pageOf('/training?range=6m')
    const [, band = ''] = /id="repetitions"[^]*?<path class="usual" d="([^"]*)"/.exec(text) ?? []
    assert.match(band, /^M[^M]*(C[^CM]*){20,}Z$/, 'one area over all the weeks')
    assert.match(text, /Usual in the 12 weeks before/)
    const last =
      /([\d,]+ this week so far; last week [\d,]+ , |[\d,]+ last week, )(◆\sas usual|[▲▼]\s[\d,]+ (above|below) usual)/
    assert.match(shownText({ text }), last)
    assert.match(shownText({ text }), / (within|[\d,]+ (over|under)) \(\d+–\d+\)/)
  })

  test('lines are broken, and the time is hatched, where nothing was recorded for two weeks', async () => {
    const text = await pageOf('/training?range=all')
    const parts = pathsOf(text, 'grades', 'dots filled')
    assert.ok(parts.length > 20, 'each session has a dot')
    assert.match(text, /<rect class="gap" fill="url\(#hatch\)"/)
    assert.match(text, /No training for two weeks or more/)
  })

  test('a session that was passed has a filled dot, another one a hollow one', async () => {
    const text = await pageOf('/training?range=all')
    assert.deepEqual(
      [pathsOf(text, 'grades', 'dots filled').length, pathsOf(text, 'grades', 'dots hollow').length],
      [25, 25],
    )
  })

  test('the weekly goal is a tick at the last bar', async () => {
    const settings = { timeZone: '', units: 'metric' } as const
    await setPreferences(service.store, 1, { ...settings, weeklyGoal: 900 })
    const text = await pageOf('/training?range=6m')
    assert.match(text, /<path class="goal" d="M[\d.]+ [\d.]+H[\d.]+"/)
    assert.match(text, /Weekly goal: 900/)
    await setPreferences(service.store, 1, { ...settings, weeklyGoal: null })
    assert.doesNotMatch(await pageOf('/training?range=6m'), /class="goal"/)
  })

  test('every lock has its timeline, however short or long it was', async () => {
    const lines = []
    for (const id of [1, 2, 3, 4, 5]) {
      const text = await pageOf(`/locks/${id}`)
      assert.match(text, /<rect class="solid" x="[\d.]+%" width="(?!0%)/, `${id}`)
      lines.push(Number(/data-lines="(\d+)"/.exec(text)?.[1]))
    }
    assert.deepEqual(lines.slice(0, 3), [1, 1, 1])
    assert.ok((lines[3] ?? 0) >= 5 && (lines[3] ?? 0) <= 7)
    assert.ok((lines[4] ?? 0) > 10 && (lines[4] ?? 0) <= 60, `${lines[4]}`)
  })

  test('a picture without data says so', async () => {
    assert.match(await pageOf('/programs/1'), /<dt>Segments<\/dt><dd>none</)
    const none = await startService(
      [records.account(1, 'ann'), records.trainingSession(1, 1, { created_at: ago(1), TrainerSegment: [] })],
      unlimited,
    )
    await using other = none
    const reader = await signInAs(other, 'ann')
    for (const [measure, name] of [
      ['repetitions', 'No grades in this period'],
      ['repetitions', 'No repetitions in this period'],
      ['distance', 'No distance is known'],
    ] as const)
      assert.ok((await reader.get(`/training?measure=${measure}`)).text.includes(name), name)
  })
})

test('a picture has at most 60 marks and stays within the weight of a page, for 6,000 sessions in five years', async () => {
  const types = ['warmup', 'training', 'repetitions', 'endurance', 'bounce', 'freeform']
  const lines = Array.from({ length: 6000 }, (_, index) =>
    records.trainingSession(index + 1, 1, {
      created_at: formatTimestamp(now - (index * 5 * 365 * DAY_MS) / 6000 - 60_000),
      TrainerSegment: types.map((type, place) =>
        records.trainerSegment(index * 6 + place + 1, { type, percentGrade: 40 + ((index * 7 + place) % 60) }),
      ),
    }),
  )
  await using service = await startService([records.account(1, 'ann'), ...lines], unlimited)
  const ann = await signInAs(service, 'ann')
  for (const [range, unit] of [
    ['12w', 'week'],
    ['1y', 'week'],
    ['all', 'quarter'],
  ] as const) {
    const { text } = await ann.get(`/training?range=${range}`)
    // Grades and repetitions have a table each.
    const marks = (text.match(/<tr data-x/g)?.length ?? 0) / 2
    assert.ok(marks >= 12 && marks <= 60, `${range}: ${marks}`)
    assert.match(text, new RegExp(`Figures by ${unit}`), range)
    assert.ok(Buffer.byteLength(text) <= MAX_PAGE_BYTES, `${range}: ${text.length} bytes`)
    assert.ok(nodesOf(text) <= MAX_PAGE_NODES, `${range}: ${nodesOf(text)} nodes`)
  }
})

test('the axis of time has its ticks at Mondays, and at first days of months, or of years from two on, in the zone of the account', () => {
  for (const timeZone of ['UTC', 'America/New_York', 'Pacific/Auckland', 'Africa/Cairo']) {
    const clockOf = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone)
    const start = Temporal.ZonedDateTime.from(`2025-09-01T00:00[${timeZone}]`)
    const ticksOf = (days: number) =>
      timeTicks([start.epochMilliseconds, start.add({ days }).epochMilliseconds], timeZone).map(({ at, name }) => {
        const clock = clockOf(at)
        assert.equal(clock.startOfDay().epochMilliseconds, at, `${timeZone}: ${clock.toString()}`)
        return { clock, name }
      })
    for (const { clock } of ticksOf(84)) assert.equal(clock.dayOfWeek, 1)
    for (const { clock } of ticksOf(364)) assert.equal(clock.day, 1)
    for (const { clock, name } of [730, 1826, 5000].flatMap(ticksOf))
      assert.equal(`${clock.month} ${clock.year}`, `1 ${name}`)
    for (const days of [1, 7, 28, 84, 182, 364, 1000, 1826, 5000, 20_000]) {
      const { length } = ticksOf(days)
      assert.ok(length >= 1 && length <= 13, `${days} days: ${length} ticks`)
    }
  }
})
