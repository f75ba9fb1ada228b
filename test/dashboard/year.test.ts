// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { formatTimestamp } from '../../src/contract/time.ts'
import { durationText, hoursText, numberText, percentText, longDistanceText } from '../../src/dashboard/text/text.ts'
import { giveAccess } from '../support/sharing.ts'
import {
  dataOf,
  figures,
  sampleService,
  shownText,
  signInAs,
  tableRows,
  type Visitor,
  visitorAs,
  asRead,
} from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const ZONE = 'America/Santiago'
const year = Temporal.Now.zonedDateTimeISO(ZONE).year

describe('a year of the sample', () => {
  let service: TestService
  let alex: Visitor
  let page: string
  let lockedBefore: number
  before(async () => {
    service = await sampleService(unlimited)
    alex = await visitorAs(service.url, 'alex')
    await alex.post('/settings', { timeZone: ZONE, units: 'metric', weeklyGoal: '' })
    lockedBefore = await lockedToday()
    page = (await alex.get(`/year/${year}`)).text
  })
  after(() => service[Symbol.asyncDispose]())

  const statistics = async (area: 'dtt' | 'lkbx', query: string) =>
    (await service.fetch(`/api/v1/${area}/stats?tz=${ZONE}&${query}`, 'alex')).body.data
  const today = Temporal.Now.plainDateISO(ZONE).toString()
  const lockedToday = async () =>
    (await statistics('lkbx', `bucket=day&from=${today}&to=${today}`)).total.lockedSeconds as number

  test('its totals are those of the API', async () => {
    const cells = totalsOf(page)
    const notes = shownText({ text: page })
    const range = `bucket=month&from=${year}-01-01&to=${today}`
    const [{ total: training }, { total: locks }] = [await statistics('dtt', range), await statistics('lkbx', range)]
    assert.equal(cells.get('Training sessions'), numberText(training.sessions))
    assert.match(
      notes,
      new RegExp(`Year ${year} Trained on ${numberText(training.days)} and locked on \\d+ of \\d+ days `),
    )
    const { text } = await alex.get(`/training?from=${year}-01-01&to=${today}`)
    assert.equal(cells.get('Median grade'), totalsOf(text).get('Median grade'))
    assert.match(notes, new RegExp(`Training sessions [\\d,]+ ${numberText(training.passed)} passed \\(`))
    assert.equal(cells.get('Repetitions'), numberText(training.repsMeasured))
    const metres = training.distanceMeters + training.distanceApproximateMeters
    const [, amount = '', unit] = /Repetitions [\d,]+ Distance (?:≈ )?([\d,.]+)\s(k?m) /.exec(notes) ?? []
    const shown = Number(amount.replaceAll(',', '')) * (unit === 'km' ? 1000 : 1)
    assert.ok(Math.abs(shown - metres) <= (unit === 'km' ? 51 : 0.5), `${amount} ${unit}`)
    assert.ok(notes.includes(asRead(`${hoursText(training.durationMeasured)} of training`)))
    // A lock of the sample is running, so there is more from one response to the next.
    const [, length = '', begun] = /Time locked [\d.]+ % (.*?) (\d+) locks? begun/.exec(notes) ?? []
    const possible = Array.from({ length: 60 }, (_, more) => durationText(locks.lockedSeconds - more))
    assert.ok(
      possible.some(text => asRead(text) === length),
      length,
    )
    assert.equal(Number(begun), locks.started)
    if (year > Number(formatTimestamp(await firstLock(service)).slice(0, 4)))
      assert.equal(cells.get('Time locked'), asRead(percentText(Math.round(locks.lockedPercent))))
  })

  test('each of its days says what the API says of that day, locked time in whole hours', async () => {
    const range = `bucket=day&from=${year}-01-01&to=${today}`
    const [training, locks] = [await statistics('dtt', range), await statistics('lkbx', range)]
    const days = new Map(
      [...page.matchAll(/href="\/(?:training|locks)\?day=([\d-]+)">([^<]*)</g)].map(([, date = '', text = '']) => [
        date,
        text,
      ]),
    )
    let [sessions, locked] = [0, 0]
    for (const [index, { date, sessions: count, repsMeasured }] of training.buckets.entries()) {
      const { lockedSeconds } = locks.buckets[index]
      const text = days.get(date) ?? ''
      assert.equal(
        /: (\d+) sessions?, ([\d,]+) reps?/.exec(text)?.slice(1).join(' '),
        count === 0 ? undefined : `${count} ${numberText(repsMeasured)}`,
        date,
      )
      // A lock of the sample is running, so today has more from one response to the next.
      const earlier = date === today ? lockedBefore : lockedSeconds
      const possible = Array.from({ length: lockedSeconds - earlier + 1 }, (_, more) => earlier + more)
      const shown = /([^,:]*) locked/.exec(text)?.[1]?.trim()
      assert.ok(possible.map(seconds => (seconds === 0 ? undefined : asRead(hoursText(seconds)))).includes(shown), date)
      sessions += count
      locked += lockedSeconds
    }
    assert.ok(sessions > 0 && locked > 0)
    // Weeks begin on Monday, in two parts of at most 27 weeks: the days before the first one are gaps.
    const [, calendar = ''] = /<div class="calendar">([^]*?)<ul class="legend">/.exec(page) ?? []
    const first = Temporal.PlainDate.from(`${year}-01-01`).dayOfWeek - 1
    const shown = Temporal.PlainDate.from(today).dayOfYear
    assert.equal(calendar.match(/class="gap"/g)?.length ?? 0, first)
    assert.equal(calendar.match(/class="day /g)?.length, shown)
    assert.equal(calendar.match(/class="weeks/g)?.length, Math.ceil((first + shown) / (27 * 7)))
  })

  test('the percent of time locked by month is that of the API', async () => {
    const { buckets } = await statistics('lkbx', `bucket=month&from=${year}-01-01&to=${today}`)
    const shown = figures(page, 'Locked', `months-${year}`)
    const since = formatTimestamp(await firstLock(service))
    assert.equal(shown.length, buckets.length)
    for (const [index, { start, lockedPercent }] of buckets.entries())
      if (start > since) assert.equal(shown[index], lockedPercent)
    const [, table = ''] = page.split(`id="months-${year}"`)
    const [, address = ''] = /<tr data-x[^>]*><td><a href="([^"]*)"/.exec(table) ?? []
    const last = year === Number(today.slice(0, 4)) && today.startsWith(`${year}-01`) ? '' : '31'
    assert.match(address.replace('&amp;', '&'), new RegExp(`^/locks\\?from=${year}-01-01&to=${year}-01-${last}`))
  })

  test('a day leads to its sessions, one with a lock alone to that', async () => {
    const days = [...page.matchAll(/href="(\/(?:training|locks)\?day=[\d-]+)">[^<]*: ((\d+) sessions?,|[^<]* locked)/g)]
    for (const kind of ['/training', '/locks']) {
      const [, path = '', , count] = days.findLast(([, path = '']) => path.startsWith(kind)) ?? []
      const rows = tableRows((await alex.get(path)).text, 'session-table') ?? []
      assert.ok(count === undefined ? rows.length > 0 : rows.length === Number(count), path)
    }
  })

  test('a year without a page is not found', async () => {
    for (const path of [`/year/${year + 1}`, '/year/1969', '/year/x'])
      assert.equal((await alex.get(path)).status, 404, path)
    assert.match((await alex.get('/year')).text, new RegExp(`<h1>Year ${year}</h1>`))
  })
})

const at = (date: string) => `${date}T12:00:00.000Z`

function session(id: number, date: string, reps: number) {
  return records.trainingSession(id, 1, {
    created_at: at(date),
    TrainerSegment: [records.trainerSegment(id, { repsMeasured: reps })],
  })
}

test('the records of a year count no day of the next one, also in a week of both', async () => {
  await using service = await startService([
    records.account(1, 'ann'),
    session(1, '2023-12-06', 500),
    session(2, '2024-12-31', 450),
    session(3, '2025-01-01', 100),
  ])
  const ann = await signInAs(service, 'ann')
  const text = async (of: number) => shownText({ text: (await ann.get(`/year/${of}`)).text })
  assert.match(await text(2024), /Reps in a week 500 week of 4 Dec 2023/)
  assert.match(await text(2025), /Reps in a week 550 week of 30 Dec 2024 /)
})

test('the large figures say how the year differs from the one before only where that was known from its start', async () => {
  await using service = await startService([
    records.account(1, 'ann'),
    session(1, '2022-12-06', 500),
    session(2, '2023-05-31', 450),
    session(3, '2024-05-31', 700),
  ])
  const ann = await signInAs(service, 'ann')
  const shown = async (of: number) => shownText(await ann.get(`/year/${of}`))
  assert.match(
    await shown(2024),
    /Training sessions 1 same as in 2023 \( 1 \) 1 passed \(100 %\) .* Median grade 80 % same as before \( 80 % \) Repetitions 700 up\s+from\s+450 (?!in)/,
  )
  assert.match(await shown(2023), /Trained on 1 of 365 days .* Training sessions 1 1 passed .*Repetitions 450 /)
  assert.equal(dataOf((await ann.get('/year/2023')).text).get('reps 2023-01-01/2023-12-31'), 450)
})

test('the records of a year end with it', async () => {
  const lock = (id: number, date: string, days: number) => {
    const end = Temporal.PlainDate.from(date).add({ days }).toString()
    return records.lockSession(
      id,
      1,
      {
        startDate: at(date),
        endDate: at(end),
        LockSegment: [
          records.lockSegment(id * 2, 'start', at(date), true),
          records.lockSegment(id * 2 + 1, 'unlocked', at(end), false),
        ],
      },
      { templateId: 41 },
    )
  }
  await using service = await startService([
    records.account(1, 'ann'),
    records.account(2, 'ben'),
    records.lockTemplate(41, 1),
    session(1, '2023-03-01', 300),
    session(2, '2023-03-02', 200),
    session(3, '2023-05-02', 400),
    session(4, '2024-05-06', 610),
    session(5, '2024-06-03', 100),
    session(6, '2024-06-04', 120),
    session(7, '2024-06-05', 130),
    session(8, '2025-03-04', 610),
    session(9, '2025-03-05', 100),
    session(10, '2025-03-06', 100),
    lock(1, '2023-02-01', 2),
    lock(2, '2023-12-20', 5),
    lock(3, '2023-12-31', 6),
  ])
  const ann = await signInAs(service, 'ann')
  const recordsOf = async (of: number) => {
    const [, card = ''] = /<h2>Best [^<]*<\/h2>([^]*?)<\/section>/.exec((await ann.get(`/year/${of}`)).text) ?? []
    return new Map(
      [...card.matchAll(/<dt>([^<]*)<\/dt><dd>([^]*?)<\/dd>/g)].map(([, name = '', value = '']) => [
        name,
        shownText({ text: value }).trim(),
      ]),
    )
  }
  const [before, last] = [await recordsOf(2023), await recordsOf(2024)]
  assert.equal(before.get('Reps in a week'), '500 week of 27 Feb 2023')
  assert.equal(last.get('Reps in a week'), '610 week of 6 May 2024')
  assert.equal(last.get('Reps in a session'), '610 6 May 2024')
  assert.equal(last.get('Days trained in a row'), '3 days up to 5 Jun 2024')
  // The latest of equal ones.
  const equal = await recordsOf(2025)
  assert.equal(equal.get('Reps in a session'), '610 4 Mar 2025')
  assert.equal(equal.get('Days trained in a row'), '3 days up to 6 Mar 2025')
  // The stretch that went on into the next year counts there.
  assert.equal(before.get('Longest stretch'), '5 d 20 Dec 2023')
  assert.equal(last.get('Longest stretch'), '6 d 31 Dec 2023')
  assert.equal(totalsOf((await ann.get('/year/2024')).text).get('Repetitions'), '960')
  const text = shownText(await ann.get('/year/2024'))
  assert.match(text, /Year 2024 Trained on 4 and locked on 6 of 366 days /)
  assert.match(
    text,
    /All years Year Training sessions Median grade Repetitions Time locked .* 2024 4 80 % 960 2 % 2023 /,
  )

  const ben = await signInAs(service, 'ben')
  await giveAccess(
    service.store,
    { ownerId: 1, partnerId: 2 },
    { areas: ['dtt'], recordsFrom: Date.parse('2024-06-01') },
  )
  await ben.post('/subject', { subject: '1', back: '/' })
  const shared = shownText(await ben.get('/year/2024'))
  assert.match(shared, /Trained on 3 of 212 days .* Training sessions 3 3 passed /)
  assert.match(shared, /All years Year Training sessions Median grade Repetitions 20\d\d /)
  assert.doesNotMatch(shared, /lock|610/i)
  assert.equal((await ben.get('/year/2023')).status, 404)
  await giveAccess(service.store, { ownerId: 1, partnerId: 2 }, { areas: ['lkbx'], recordsFrom: null })
  const locks = shownText(await ben.get('/year/2024'))
  assert.match(locks, /Locked on \d+ of \d+ days .* Days .* Locked by month /)
  assert.doesNotMatch(locks, /not trained|repetitions/i)
})

/** By the name of the row. */
function totalsOf(page: string): Map<string, string> {
  const rows = page.matchAll(/<dt>([^<]*)<\/dt><dd>(?:<data [^>]*>)?([^<]+)</g)
  return new Map([...rows].map(([, name = '', value = '']) => [name, value]))
}

async function firstLock({ store }: TestService): Promise<number> {
  const { at } = await store.db
    .selectFrom('lock_session')
    .select('at')
    .where('owner_id', '=', 1)
    .orderBy('at')
    .limit(1)
    .executeTakeFirstOrThrow()
  return at
}

test('a distance that stands alone is in kilometres from 1,000 m on, and in miles from 5,280 feet on', () => {
  const metric = (metres: number) => longDistanceText({ units: 'metric' }, metres * 1_000_000)
  assert.deepEqual([999.9, 1000, 12_345].map(metric), ['999.9\u00a0m', '1\u00a0km', '12.3\u00a0km'])
  const imperial = (feet: number) => longDistanceText({ units: 'imperial' }, feet * 304_800)
  assert.deepEqual([5279, 5280, 7920].map(imperial), ['5,279\u00a0ft', '1\u00a0mi', '1.5\u00a0mi'])
})
