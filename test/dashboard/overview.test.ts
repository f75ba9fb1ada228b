// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { dataOf, shownText, signInAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { giveAccess } from '../support/sharing.ts'

/** A Friday. */
const NOW = Date.parse('2026-11-27T12:00:00Z')

/** A session so many days ago, with a grade of 80 if no other is given. */
interface Recorded {
  readonly days: number
  readonly reps?: number
  readonly grade?: number
  readonly program?: number
}

/** Two sessions a week, as many repetitions in each week, for twenty weeks up to the last one. */
const steady: readonly Recorded[] = Array.from({ length: 20 }, (_, week) => [
  { days: 7 * week + 8, reps: 100 + (week % 3) },
  { days: 7 * week + 10, reps: 100 + (week % 3), grade: 70 + (week % 9) },
]).flat()

/** The news of the overview so many days after NOW, to the owner if nobody else is named, and its links. */
async function newsAt(
  sessions: readonly Recorded[],
  { later = 0, asOf = 0, recordsFrom, isPartial = false }: Options = {},
): Promise<{ readonly text: string; readonly links: readonly string[]; readonly tile: string }> {
  const lines = sessions
    .toSorted((a, b) => b.days - a.days)
    .map(({ days, reps = 100, grade = 80, program = 1 }, index) =>
      records.trainingSession(index + 1, 1, {
        created_at: formatTimestamp(NOW - days * DAY_MS - 3_600_000),
        settings_id: program,
        TrainerSegment: [records.trainerSegment(index + 1, { percentGrade: grade, repsMeasured: reps })],
      }),
    )
  const known = { ...records.account(1, 'ann'), asOf: formatTimestamp(NOW + (later - asOf) * DAY_MS) }
  mock.timers.enable({ apis: ['Date'], now: NOW + later * DAY_MS })
  try {
    await using service = await startService(
      [known, records.account(2, 'ben'), records.trainingTemplate(1, 1, { name: 'Pace' }), ...lines],
      unlimited,
    )
    if (recordsFrom !== undefined) {
      const terms = { areas: ['dtt'], recordsFrom: Date.parse(recordsFrom) } as const
      await giveAccess(service.store, { ownerId: 1, partnerId: 2 }, terms)
    }
    if (isPartial) {
      const source = { account_id: 1, origin: 'https://source.example', knows_me: 1, capabilities: '{}' }
      await service.store.db.insertInto('pull_source').values(source).execute()
    }
    const reader = await signInAs(service, recordsFrom === undefined ? 'ann' : 'ben')
    if (recordsFrom !== undefined) await reader.post('/subject', { subject: '1', back: '/' })
    const { text } = await reader.get('/')
    const [, news = ''] = /<span class="news"[^>]*>([^]*?)<\/p>/.exec(text) ?? []
    const links = [...news.matchAll(/<a href="([^"]+)">/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'))
    // The page that a figure leads to has it, too.
    const [of, value] = [...dataOf(news)].find(([of]) => of.startsWith('reps')) ?? []
    const linked = /<a href="([^"]+from=[^"]+)">(?:(?!<\/a>)[^])*<data [^>]*reps/
      .exec(news)?.[1]
      ?.replaceAll('&amp;', '&')
    if (of !== undefined && linked !== undefined && value !== 0)
      assert.equal(dataOf((await reader.get(linked)).text).get(of), value, linked)
    return {
      text: shownText({ text: news })
        .trim()
        .replaceAll(/ (?=[,:])/g, ''),
      links,
      tile: shownText({ text }),
    }
  } finally {
    mock.timers.reset()
  }
}

interface Options {
  readonly later?: number
  readonly asOf?: number
  readonly recordsFrom?: string
  readonly isPartial?: boolean
}

const ofThisWeek = { days: 1, reps: 400 }

test('the overview begins with what is new: at most two items, for seven days', async () => {
  assert.match(
    (await newsAt([...steady, { days: 3 }, { days: 1 }])).tile,
    / So far this week: \d+\srepetitions?, ◆\sas\susual /,
  )
  assert.match((await newsAt(steady)).tile, / So far this week: \d+\srepetitions?, ▼\sbelow\susual /)
  const best = await newsAt([...steady, ofThisWeek])
  assert.match(best.text, /^Best week so far: 400 repetitions \(before \d+\)/)
  assert.equal(best.links[0], '/training?from=2026-11-23&to=2026-11-27')
  const rows = [0, 1, 2, 3].map(days => ({ days, reps: 20 }))
  assert.match((await newsAt([...steady, ...rows])).text, /^Trained 4 days in a row, the most so far$/)
  const back = [...steady.filter(({ days }) => days > 20), { days: 2, reps: 20 }]
  assert.match((await newsAt(back)).text, /^Back after 20 days/)
  assert.match(
    (await newsAt([...steady, { days: 2, grade: 99, reps: 1 }])).text,
    /^Wed: grade 99\s%, the best with Pace$/,
  )
  assert.equal((await newsAt([...steady, ofThisWeek], { later: 10 })).text, 'No new best in the last seven days')
})

test('this week is compared with what is usual at the same day and time of the weeks before', async () => {
  // Of a hundred repetitions on each Monday, two hundred on each Friday afternoon, and none this Friday so far.
  const weeks = Array.from({ length: 12 }, (_, week) => [
    { days: 7 * week + 4, reps: 100 + week },
    { days: 7 * week + 6.9, reps: 200 },
  ])
  const { tile } = await newsAt([...weeks.flat(), { days: 1, reps: 30 }])
  assert.match(tile, /So far this week: 130\srepetitions, ▲\sabove\susual .* usually 102 to 108 by now 2 sessions/)
})

test('nothing is new where too little is known, or the copy is old or has never been complete', async () => {
  for (const [sessions, options] of [
    [steady.slice(0, 9), {}],
    [[...steady, ofThisWeek], { asOf: 2 }],
    [[...steady, ofThisWeek], { isPartial: true }],
  ] as const) {
    const { text, tile } = await newsAt(sessions, options)
    assert.equal(text, '')
    if ('asOf' in options || 'isPartial' in options) assert.doesNotMatch(tile, /usual so far/)
  }
})

test('to somebody who may read from a day on, the news is since that day', async () => {
  const best = [{ days: 100, reps: 5000 }, ...steady, ofThisWeek]
  assert.doesNotMatch((await newsAt(best)).text, /Best week/)
  const { text } = await newsAt(best, { recordsFrom: '2026-09-01' })
  assert.match(
    text,
    /^So far this week: 400 repetitions, ▲ above usual Best week since 1 Sept[^:]*: 400 repetitions \(before \d+\)/,
  )
})
