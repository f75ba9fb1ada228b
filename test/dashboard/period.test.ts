// engine: any
import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { DAY_MS, formatTimestamp, formatDate } from '../../src/contract/time.ts'
import {
  comparedDays,
  daysText,
  periodFor,
  type Period,
  type PeriodQuery,
  periodText,
  presetNames,
  presets,
  readPeriod,
  stepFrom,
  timeOfDays,
  writePeriod,
} from '../../src/dashboard/text/period.ts'
import {
  dataOf,
  figures,
  type Seen,
  shownText,
  signInAs,
  tableRows,
  tilesOf,
  type Visitor,
} from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'] as const

/** A week in which the clocks of each zone change, twice a year, and a week without a change. */
const weeksOf: Readonly<Record<(typeof zones)[number], readonly string[]>> = {
  'Europe/Berlin': ['2026-03-23', '2026-10-19', '2026-06-01'],
  'America/New_York': ['2026-03-02', '2026-10-26', '2026-06-01'],
  'Australia/Lord_Howe': ['2026-03-30', '2026-09-28', '2026-06-01'],
}

/** Each weekday of those weeks and the day after, early and late. */
function* moments() {
  for (const timeZone of zones) {
    for (const monday of weeksOf[timeZone]) {
      for (let day = 0; day < 8; day += 1) {
        const date = Temporal.PlainDate.from(monday).add({ days: day })
        for (const plainTime of ['00:00:01', '23:59:59']) {
          yield { timeZone, date, now: date.toZonedDateTime({ timeZone, plainTime }).epochMilliseconds }
        }
      }
    }
  }
}

/** The period that an address shows. */
function shownAt(address: Partial<PeriodQuery>, now: number, timeZone: string): Period | undefined {
  const query = new URLSearchParams()
  writePeriod(query, { preset: '12w', ...address })
  return periodFor(readPeriod(query, now, timeZone), now, timeZone)
}

const startOf = (date: Temporal.PlainDate, timeZone: string) => date.toZonedDateTime(timeZone).epochMilliseconds

test('a preset has whole weeks from Monday on and this one so far, on each weekday, also where clocks change', () => {
  let count = 0
  for (const { timeZone, date, now } of moments()) {
    for (const preset of presetNames) {
      const period = shownAt({ preset }, now, timeZone)
      const weeks = presets[preset]
      if (weeks === undefined) assert.equal(period, undefined)
      else {
        assert.ok(period)
        assert.deepEqual(timeOfDays(period, timeZone), {
          from: startOf(date.subtract({ days: date.dayOfWeek - 1, weeks: weeks - 1 }), timeZone),
          to: startOf(date.add({ days: 1 }), timeZone),
        })
        assert.equal(periodText(period), `in the last ${weeks} weeks`)
        count += 1
      }
    }
  }
  assert.equal(count, 3 * 3 * 8 * 2 * 4)
})

test('a step back leads to as many weeks, right before; a period is compared with as many days of them; the step forward leads back', () => {
  for (const { timeZone, now } of moments()) {
    for (const preset of presetNames.filter(name => name !== 'all')) {
      const shown = shownAt({ preset }, now, timeZone)
      const step = shown && stepFrom(shown, -1)
      assert.ok(shown && step)
      const before = shownAt(step, now, timeZone)
      assert.ok(before)
      const compared = comparedDays(shown)
      assert.equal(compared.first, before.first)
      assert.equal(compared.last - compared.first, shown.last - shown.first)
      assert.equal(timeOfDays(before, timeZone).to, timeOfDays(shown, timeZone).from)
      assert.equal(before.length, 7 * (presets[preset] ?? 0))
      assert.deepEqual(stepFrom(before, 1), { preset, days: undefined })
      assert.equal(stepFrom(shown, 1), undefined)
    }
  }
})

test('the current week shows its days up to today, is compared with the same days of the last, and is stepped by seven days', () => {
  const timeZone = 'Europe/Berlin'
  const now = Date.parse('2026-10-28T12:00:00Z')
  const [monday, sunday] = ['2026-10-26', '2026-11-01'].map(date => Date.parse(date) / DAY_MS)
  assert.ok(monday !== undefined && sunday !== undefined)
  const week = shownAt({ days: [monday, sunday] }, now, timeZone)
  assert.ok(week)
  assert.equal(daysText(week), '26–\u206028\u00a0Oct\u00a02026')
  assert.equal(formatDate(week.last), '2026-10-28')
  assert.deepEqual(comparedDays(week), { first: monday - 7, last: monday - 5 })
  assert.deepEqual(stepFrom(week, -1), { days: [monday - 7, monday - 1] })
  assert.equal(stepFrom(week, 1), undefined)
})

test('an address with one of the two days is completed, and what is no date is ignored', () => {
  const [now, timeZone] = [Date.parse('2026-06-10T12:00:00Z'), 'UTC'] as const
  const days = (query: string) => {
    const period = periodFor(readPeriod(new URLSearchParams(query), now, timeZone), now, timeZone)
    return period && [formatDate(period.first), formatDate(period.last)]
  }
  assert.deepEqual(days('from=2026-06-01'), ['2026-06-01', '2026-06-10'])
  assert.deepEqual(days('to=2026-05-31&range=4w'), ['2026-05-04', '2026-05-31'])
  assert.deepEqual(days('day=2026-05-31'), ['2026-05-31', '2026-05-31'])
  for (const query of ['', 'from=2026-02-30', 'to=x', 'day=31', 'range=9w']) {
    assert.deepEqual(days(query), ['2026-03-23', '2026-06-10'], query)
  }
})

/** More sessions on some days than on others, at both ends of each day of 800 in a zone; each has its own grade and repetitions. */
function history(today: Temporal.PlainDate, timeZone: string): object[] {
  const times = Array.from({ length: 800 }, (_, ago) => {
    const date = today.subtract({ days: ago })
    const [start, end] = [startOf(date, timeZone), startOf(date.add({ days: 1 }), timeZone)]
    return [start, ...(ago % 3 === 0 ? [end - 1000] : []), ...(ago % 5 === 0 ? [(start + end) / 2] : [])]
  }).flat()
  const sessions = times.map((at, index) =>
    records.trainingSession(index + 1, 1, {
      created_at: formatTimestamp(at),
      passed: index % 4 !== 0,
      TrainerSegment: [records.trainerSegment(index + 1, { percentGrade: index % 100, repsMeasured: index % 7 })],
    }),
  )
  return [records.account(1, 'ann'), ...sessions]
}

const leadOf = ({ text }: Seen) => /<dl class="stats card">[^]*?<\/dl>/.exec(text)?.[0] ?? ''
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

describe('with the clock on each weekday of a week in which clocks change', () => {
  for (const timeZone of zones) {
    test(`every number in the sentence of a period equals the page that its link opens, in ${timeZone}`, async () => {
      const [monday = ''] = weeksOf[timeZone]
      const first = Temporal.PlainDate.from(monday)
      // Until the end of the day, so that nothing of it is still to come.
      const at = (day: number) => startOf(first.add({ days: day + 1 }), timeZone) - 1
      mock.timers.enable({ apis: ['Date'], now: at(0) })
      try {
        await using service = await startService(history(first.add({ days: 6 }), timeZone), unlimited)
        for (let day = 0; day < 7; day += 1) {
          mock.timers.setTime(at(day))
          const ann = await signInAs(service, 'ann')
          await ann.post('/settings', { timeZone, units: 'metric' })
          const preset = presetNames[day % 4] ?? '4w'
          const page = await ann.get(`/training?range=${preset}`)
          sameEverywhere(page, presets[preset] ?? 0, day)
          await sameBehindLinks(ann, leadOf(page))
          const csv = (await ann.get(`/training.csv?range=${preset}`)).text.trim().split('\r\n')
          const shown = tilesOf((await ann.get(`/training?range=${preset}`)).text).get('Sessions')
          assert.equal(csv.length - 1, Number(shown?.replaceAll(',', '')))
          await sameOnOverview(ann)
        }
      } finally {
        mock.timers.reset()
      }
    })
  }

  /** Every figure in a link is on the page that it opens, too. */
  async function sameBehindLinks(ann: Visitor, markup: string) {
    const links = [...markup.matchAll(/<a href="([^"]+)">[^<]*<data value="([^"]*)" data-of="([^"]*)"/g)]
    assert.ok(links.length > 0)
    for (const [, path = '', value, of = ''] of links)
      assert.equal(dataOf((await ann.get(path.replaceAll('&amp;', '&'))).text).get(of), Number(value), `${path}: ${of}`)
  }

  /** This week and the last twelve of the overview are those of the pages that they link to. */
  async function sameOnOverview(ann: Visitor) {
    const overview = dataOf((await ann.get('/')).text)
    const training = dataOf((await ann.get('/training')).text)
    const both = [...overview].filter(([of]) => training.has(of))
    assert.ok(both.length >= 2)
    for (const [of, value] of both) assert.equal(value, training.get(of), of)
    const [week = ''] = overview.keys().filter(of => of.startsWith('sessions'))
    const [from, to] = week.split(' ')[1]?.split('/') ?? []
    const tiles = dataOf((await ann.get(`/training?from=${from}&to=${to}`)).text)
    for (const name of ['sessions', 'reps'])
      assert.equal(overview.get(`${name} ${from}/${to}`), tiles.get(`${name} ${from}/${to}`))
  }

  /** The tiles, the table and the charts of a page say the same, of exactly these days. */
  function sameEverywhere(page: Seen, weeks: number, weekday: number) {
    const tiles = tilesOf(page.text)
    const number = (name: string) => Number(tiles.get(name)?.replaceAll(',', ''))
    assert.equal(sum(figures(page.text, 'Repetitions').map(value => value ?? 0)), number('Repetitions'))
    const total = / of ([\d,]*\d)/.exec(shownText({ text: page.text.split('id="session-table"')[1] ?? '' }))?.[1]
    assert.equal(total ?? String(tableRows(page.text, 'session-table')?.length), tiles.get('Sessions'))
    const [first, last] = ['from', 'to'].map(name =>
      Date.parse(new RegExp(`name="${name}" value="([^"]+)"`).exec(page.text)?.[1] ?? ''),
    )
    assert.equal(((last ?? 0) - (first ?? 0)) / DAY_MS + 1, 7 * (weeks - 1) + weekday + 1)
  }
})

test('the page says that From is later than To, and that days are yet to come', async () => {
  const today = Temporal.Now.plainDateISO('UTC')
  await using service = await startService(history(today, 'UTC'), unlimited)
  const ann = await signInAs(service, 'ann')
  const wrong = await ann.get('/training?from=2026-02-02&to=2026-02-01')
  assert.match(shownText(wrong), /From \(2 Feb( 2026)?\) is later than To \(1 Feb( 2026)?\), so no day is shown\./)
  // What was entered stays in the fields, and nothing is shown for it.
  assert.match(wrong.text, /name="from" value="2026-02-02"[^]*name="to" value="2026-02-01"/)
  assert.equal(tableRows(wrong.text, 'session-table'), undefined)
  assert.equal((await ann.get('/training.csv?from=2026-02-02&to=2026-02-01')).text.trim().split('\r\n').length, 1)
  const [from, to] = [3, 9].map(days => today.add({ days }).toString())
  const future = await ann.get(`/training?from=${from}&to=${to}`)
  assert.match(shownText(future), /No sessions These days are yet to come\./)
  // A period that has begun shows its days so far, without a note.
  const running = await ann.get(`/training?from=${today.subtract({ days: 2 }).toString()}&to=${to}`)
  assert.doesNotMatch(running.text, /yet to come|later than/)
})
