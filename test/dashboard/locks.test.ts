// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { listReads } from '../../src/accounts/read-log-queries.ts'
import { lockFields } from '../../src/archive/formats/tables.ts'
import { importArchive } from '../../src/archive/import.ts'
import { rulesOf } from '../../src/dashboard/pages/locks/templates.ts'
import { dateText, durationText, minutesText, partText } from '../../src/dashboard/text/text.ts'
import { bucketStart, DAY_MS, formatDate, HOUR_MS } from '../../src/contract/time.ts'
import {
  cellTexts,
  dataOf,
  figures as figuresOf,
  sampleService,
  shownText,
  type Visitor,
  signInAs,
  tableRows,
  tilesOf,
  visitorAs,
} from '../support/dashboard.ts'
import { lockSegment, lockSession, lockTemplate, trainingSession, world } from '../support/records.ts'
import { archiveOf, startService } from '../support/service.ts'

const events = [
  lockSegment(1, 'start', '2026-02-01T08:00:00Z', true),
  lockSegment(2, 'break', '2026-02-01T20:00:00Z', false),
  lockSegment(3, 'locked', '2026-02-01T20:30:00Z', true),
  lockSegment(4, 'unlocked', '2026-02-03T08:00:00Z', false),
]
const ended = { startDate: '2026-02-01T08:00:00Z', endDate: '2026-02-03T08:00:00Z', LockSegment: events }

const records = [
  ...world,
  lockTemplate(41, 1, { name: 'Three day lock' }),
  lockSession(51, 1, { name: 'Weekend', ...ended }, { templateId: 41 }),
  lockSession(52, 1, {
    name: 'Short one',
    lockState: 'abandoned',
    startDate: '2026-03-01T00:00:00Z',
    LockSegment: [
      lockSegment(5, 'start', '2026-03-01T00:00:00Z', true),
      lockSegment(6, 'unlocked', '2026-03-01T01:00:00Z', false),
    ],
  }),
  lockSession(53, 3, { name: 'Not yours' }),
  trainingSession(61, 1, { name: 'Evening run' }),
]

async function signedIn(username: 'ann' | 'ben', lines: readonly object[] = records) {
  const service = await startService(lines)
  const viewer = await signInAs(service, username)
  return { service, viewer, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test('a lock session shows its totals, and a row for each locked stretch with the break after it', async () => {
  await using it = await signedIn('ann')
  const { text } = await it.viewer.get('/locks/51')
  assert.match(text, /<title>Lockstep – Weekend<\/title>/)
  assert.match(text, /Lasted<\/dt><dd>2\sd<small>1\sd 23\sh 30\smin locked<\/small>/)
  assert.match(text, /Breaks<\/dt><dd>1<small>30\smin/)
  assert.match(text, /Longest stretch<\/dt><dd>35\sh 30\smin/)
  assert.deepEqual(tableRows(text, 'timeline')?.map(cellTexts), [
    ['Sun 1 Feb, 08:00 → 20:00', '12 h', '30 min'],
    ['Sun 1 Feb, 20:30 → Tue 08:00', '35 h 30 min', ''],
  ])
  assert.match(text, /href="\/lock-templates\/41"/)
})

test('a locked stretch says where clocks changed in it', async () => {
  const [startDate, endDate] = ['2026-03-28T20:00:00.400Z', '2026-03-29T08:00:00.500Z']
  const LockSegment = [lockSegment(7, 'start', startDate, true), lockSegment(8, 'unlocked', endDate, false)]
  await using it = await signedIn('ann', [...world, lockSession(54, 1, { startDate, endDate, LockSegment })])
  await it.viewer.post('/settings', { timeZone: 'Europe/Berlin' })
  assert.match(shownText(await it.viewer.get('/locks/54')), / Sat 28 Mar, 21:00 → Sun\s10:00 clocks changed 12\sh $/)
})

test('a template lists all of its locks, also where so many have passed that its figures are of the newest; the median length is of the last ten', async () => {
  const many = Array.from({ length: 402 }, (_, index) => {
    const day = Date.UTC(2025, 0, 1 + index)
    const [startDate, endDate] = [day, day + (index < 397 ? 1 : 3) * HOUR_MS].map(at => new Date(at).toISOString())
    const lockState = index < 401 ? 'completed' : 'abandoned'
    const more = { name: `Number ${index}`, lockState, startDate, endDate, LockSegment: [] }
    return lockSession(1000 + index, 1, more, { templateId: 41 })
  })
  await using it = await signedIn('ann', [...world, lockTemplate(41, 1), ...many])
  assert.match((await it.viewer.get('/lock-templates/41?page=999')).text, /\/locks\/1000"[^]*–402 of 402/)
  assert.match(
    (await it.viewer.get('/lock-templates')).text,
    /<path class="dots filled" d="(M[^M"]+){9}"[^]*>(completed, ){9}not completed<[^]*>9 of 10<[^]*>100\s% of all 402<[^]*>2\sh</,
  )
})

test('a page shows the record of an owner who gave access; any other record does not exist', async () => {
  await using ann = await signedIn('ann')
  for (const path of ['/locks/53', '/locks/999', '/locks/x', '/lock-templates/999']) {
    const { status, text } = await ann.viewer.get(path)
    assert.deepEqual([status, /no year means\s*</.test(text)], [404, false], path)
  }
  await using ben = await signedIn('ben')
  assert.match((await ben.viewer.get('/locks')).text, /No locks yet/)
  assert.match((await ben.viewer.get('/locks/51')).text, /Weekend/)
  await ben.viewer.post('/subject', { subject: '1', back: '/locks' })
  assert.match((await ben.viewer.get('/locks?range=all')).text, /Short one/)
  assert.match((await ben.viewer.get('/lock-templates')).text, /Three day lock/)
})

test('who looks at a template is in the log of reads of those whose locks it shows', async () => {
  const ofAnn = lockSession(51, 1, ended, { templateId: 41 })
  await using ben = await signedIn('ben', [...world, lockTemplate(41, 2), ofAnn])
  for (const path of ['', '/41']) assert.match((await ben.viewer.get(`/lock-templates${path}`)).text, /1\sof\s1/)
  await ben.service.service.close()
  const reads = await listReads(ben.service.store, 1, { limit: 10 })
  assert.deepEqual(reads.map(({ area, kind }) => `${area} ${kind}`).toSorted(), ['lkbx list', 'lkbx record'])
})

test("the picker names the owner of one's own record, too, while other pages show somebody else's", async () => {
  await using ben = await signedIn('ben', [...records, lockSession(56, 2, { name: 'Own' })])
  await ben.viewer.post('/subject', { subject: '1', back: '/locks' })
  const own = await ben.viewer.get('/locks/56')
  assert.match(own.text, /<option value="2" selected>My records</)
  assert.match((await ben.viewer.get('/locks/51')).text, /<option value="1" selected>ann</)
})

test('the file has the rows of the page', async () => {
  await using it = await signedIn('ann')
  const page = (await it.viewer.get('/locks?range=all')).text
  const [, link = ''] = /href="(\/locks\.csv[^"]*)"/.exec(page) ?? []
  const csv = await it.viewer.get(link)
  assert.equal(csv.headers.get('Content-Type'), 'text/csv; charset=utf-8')
  assert.match(csv.headers.get('Content-Disposition') ?? '', /^attachment; filename="locks-\d{4}-\d\d-\d\d\.csv"$/)
  assert.equal(
    csv.text.split('\r\n')[1],
    `52,Short one,Ended early,2026-03-01T00:00:00Z,2026-03-01T01:00:00Z,7200,3600,0,0${','.repeat(lockFields.length)}`,
  )
  assert.deepEqual(csv.text.match(/^\d+/gm), ['52', '51'])
})

test('spreadsheets do not run a name as a formula', async () => {
  await using it = await signedIn('ann', [...world, lockSession(1, 1, { name: '=HYPERLINK("x"),1' })])
  assert.match((await it.viewer.get('/locks.csv?range=all')).text, /1,"'=HYPERLINK\(""x""\),1",/)
})

test('lengths say the two largest units that are not 0; a stretch of up to three days has its minutes', () => {
  const stretches = [86_760_000, 259_560_000].map(length => minutesText(length, true))
  const texts = [...[86_760, 86_400, 3605].map(length => durationText(length)), ...stretches].map(text =>
    text.replaceAll('\u00a0', ' '),
  )
  assert.deepEqual(texts, ['1 d 6 min', '1 d', '1 h', '24 h 6 min', '3 d 6 min'])
})

test('the rules of a template state its fields that apply and nothing else', () => {
  const { data } = lockTemplate(1, 1, {
    isRandomDuration: true,
    minDuration: 3600,
    maxDuration: 90_000,
    isDeepthroatEnabled: true,
    deepthroatTimeReduction: 1800,
    isShameEnabled: true,
    shameTimeAdd: 900,
    isEmergencyUnlockEnabled: false,
    isTimeDisplayed: false,
    isTestLock: true,
  })
  assert.deepEqual(rulesOf(data), [
    ['Length', '1\u00a0h to 1\u00a0d\u00a01\u00a0h, at random'],
    ['Breaks', 'up to 30\u00a0min every 24\u00a0h'],
    ['A late break', 'adds 10\u00a0min'],
    ['Task credit', 'takes off 1,800 (unit\u00a0not\u00a0recorded)'],
    ['Penalty votes', 'add 900 (unit\u00a0not\u00a0recorded)'],
    ['Remaining time', 'hidden'],
    ['Figures', 'not counted'],
  ])
  const { data: strict } = lockTemplate(1, 1, { breakKeyholderOnly: true })
  assert.deepEqual(rulesOf(strict)[3], ['Breaks are started', 'only by the keyholder'])
})

test('the page of a template says how many locks were completed, and what they came to; each row what was not as planned', async () => {
  const day = (number: number) => `2026-02-0${number}T08:00:00Z`
  const lasted = (id: number, from: number, to: number) =>
    lockSession(id, 1, { ...ended, startDate: day(from), endDate: day(to) }, { templateId: 41 })
  const lines = [...world, lockTemplate(41, 1), lasted(51, 1, 3), lasted(52, 3, 4), lasted(53, 4, 9)]
  await using it = await signedIn('ann', [...lines, lasted(54, 2, 3)])
  const text = shownText(await it.viewer.get('/lock-templates/41'))
  assert.match(text, / 4 of 4 100\s% of those that ended Median length 1\sd 12\sh shortest 1\sd, longest 5\sd Last/)
  assert.match(
    text,
    /Started Ended Lasted 0 5\sd Breaks .* Lock 53 4\sd 22\sh over plan 4 Feb( 2026)?, 08:00 9 Feb( 2026)? 5\sd /,
  )
  assert.match(
    shownText(await it.viewer.get('/lock-templates')),
    / 1\sh planned 30\smin break every 24\sh completed, completed, completed, completed 4 of 4 1\sd 12\sh 4 Feb/,
  )
  await it.service.import([
    lockTemplate(42, 1),
    lockSession(55, 1, { ...ended, lockState: 'abandoned' }, { templateId: 42 }),
  ])
  assert.match(shownText(await it.viewer.get('/lock-templates/42')), /Completed 0 of 1 0 % of those that ended /)
  assert.match(
    shownText(await it.viewer.get('/lock-templates')),
    / Least completed in the last ten: Template 42 , 0 of 1 \(0 %\) Completed Not completed Median length Planned Name Last ten Completed Length /,
  )
})

test('discreet mode keeps names out of the page, and is remembered by this browser', async () => {
  await using it = await signedIn('ben')
  const { viewer } = it
  await viewer.post('/subject', { subject: '1', back: '/' })
  assert.equal((await viewer.post('/display', { discreet: '1', back: '/locks' })).to, '/locks')
  assert.match(viewer.cookies.get('discreet') ?? '', /^1$/)
  const paths = [
    '/',
    '/training',
    '/training/61',
    '/programs',
    '/locks',
    '/locks/51',
    '/locks/51?view=data',
    '/lock-templates',
    '/lock-templates/41',
    '/lock-templates/41?view=data',
    '/keys',
    '/settings',
  ]
  for (const path of paths) {
    const { text, status } = await viewer.get(path)
    assert.equal(status, 200, path)
    for (const word of ['ann', 'ben', 'Weekend', 'Short one', 'Three day lock', 'Evening run']) {
      assert.ok(!new RegExp(`\\b${word}\\b`).test(text), `${word} on ${path}`)
    }
  }
  const page = (await viewer.get('/locks/51')).text
  assert.match(page, /Lock 51/)
  assert.match(page, /Partner/)
  await viewer.post('/display', { discreet: '0' })
  assert.match((await viewer.get('/locks/51')).text, /Weekend/)
})

test('in discreet mode no page says that something is locked', async () => {
  await using it = await signedIn('ann')
  it.viewer.cookies.set('discreet', '1')
  for (const path of ['/', '/year', '/locks', '/locks/51', '/lock-templates/41']) {
    const { text } = await it.viewer.get(path)
    const shown = text.replaceAll(/<script[^]*?<\/script>|<[^>]*>/g, ' ')
    assert.deepEqual(shown.match(/[^.]{0,40}(\blocked|under lock)/i), null, path)
  }
})

test('in discreet mode a lock template shows its length and no other rule', async () => {
  await using it = await signedIn('ann')
  const rulesOn = async () =>
    /id="rules">[^]*?<dl[^>]*>([^]*?)<\/dl>/.exec((await it.viewer.get('/lock-templates/41')).text)?.[1]
  assert.match((await rulesOn()) ?? '', /keyholder|Emergency|votes|Breaks/)
  it.viewer.cookies.set('discreet', '1')
  assert.match((await rulesOn()) ?? '', /^<div><dt>Length<\/dt><dd>[^<]*<\/dd><\/div>$/)
})

test('the export of everything is an archive of the viewer’s account, which can be imported alone', async () => {
  await using it = await signedIn('ann')
  const { text, headers } = await it.viewer.get('/settings/export')
  assert.equal(headers.get('Content-Type'), 'application/x-ndjson')
  const kinds = text
    .trimEnd()
    .split('\n')
    .map(line => (JSON.parse(line) as { kind: string }).kind)
  assert.deepEqual(kinds, ['account', 'lock-template', 'lock-session', 'lock-session', 'training-session', 'end'])
  await using alone = await startService()
  const { kinds: read } = await importArchive(alone.store, archiveOf(text.trimEnd().split('\n')))
  assert.equal(
    read.reduce((sum, { added }) => sum + added, 0),
    5,
  )
})

const start = new Date(Date.now() - 3 * 86_400_000).toISOString()
const end = new Date(Date.parse(start) + 5 * 86_400_000).toISOString()

/** The records as if they were of seven months ago: charts show a year, calendars half of it. */
function recently(): readonly object[] {
  const days = Math.floor((Date.now() - Date.parse('2026-03-01')) / DAY_MS) - 210
  const later = (instant: string) => new Date(Date.parse(instant) + days * DAY_MS).toISOString()
  return JSON.parse(JSON.stringify(records).replaceAll(/(?<=")2026-[\w:-]+Z(?=")/g, later))
}

const running = (template: object, others: readonly object[] = records) => {
  return [
    ...others,
    lockTemplate(42, 1, { name: 'Kept dark', ...template }),
    lockSession(
      54,
      1,
      {
        name: 'Running',
        lockState: 'locked',
        isActive: true,
        duration: 802_801,
        startDate: start,
        endDate: end,
        LockSegment: [lockSegment(7, 'start', start, true)],
      },
      { templateId: 42 },
    ),
  ]
}

/** Everything that reveals how long the running lock lasts: its length in words and seconds, and its end. */
const TIME = /9\sd 7\sh|802801|endDate|in 1\sd 23\sh|in 2\sd/

/** The links of whole weeks in tables of pictures, on some days of the week also of the one in which the lock ends. */
const WEEK_LINK = /<a href="[^"]*from=([\d-]+)&amp;to=([\d-]+)">[^<]*<\/a>/g

function isOfWeek(link: string): boolean {
  const [first = 0, last = 0] = [...link.matchAll(/(?:from|to)=([\d-]+)/g)].map(([, day = '']) => Date.parse(day))
  return new Date(first).getUTCDay() === 1 && last - first === 6 * DAY_MS
}

const lockPages = ['/', '/locks', '/locks/54', '/locks/54?view=data', '/locks.csv']

/** Its end as an instant or as a day, its length, or what a countdown needs. */
const END = new RegExp(
  `${end.slice(0, 16)}|${Date.parse(end)}|${dateText({ timeZone: 'UTC' }, Date.parse(end))}|802801|data-until|\\bleft\\b|9\\sd 7\\sh`,
)

/** All pages that a viewer reaches by links, except those to another order or period and to the reference, which is the same for everybody. */
async function everyPage(viewer: Visitor): Promise<Map<string, string>> {
  const seen = new Map<string, string>()
  const paths = new Set(['/'])
  for (const path of paths) {
    const { text } = await viewer.get(path)
    seen.set(path, text)
    for (const [, to = ''] of text.matchAll(/href="(\/(?!assets|docs|settings\/export)[^"#]*)/g)) {
      if (!/[?;](from|day|range|program|sort|scale)=/.test(to)) paths.add(to.replaceAll('&amp;', '&'))
    }
    assert.ok(paths.size < 100, [...paths].join(' '))
  }
  return seen
}

test('where the template hides the time, its owner sees no end, length or time left on any page, tab or file', async () => {
  await using it = await signedIn('ann', running({ isTimeDisplayed: false }))
  await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  for (const path of lockPages) {
    const { text, status } = await it.viewer.get(path)
    assert.equal(status, 200, path)
    // The sessions that ended say when.
    const shown = text
      .split('\n')
      .filter(line => !line.includes('"id":51'))
      .join('\n')
    assert.doesNotMatch(shown, TIME, path)
  }
  assert.match((await it.viewer.get('/locks/54')).text, /Planned end<\/dt><dd>Hidden</)
  const pages = await everyPage(it.viewer)
  for (const path of ['/locks/54', '/locks/54?view=data', '/year', '/training', '/lock-templates/42']) {
    assert.ok(pages.has(path), path)
  }
  for (const [path, text] of pages) {
    const shown = text
      .replaceAll(/<(style|script)>[^]*?<\/\1>/g, '')
      .replaceAll(WEEK_LINK, link => (isOfWeek(link) ? '' : link))
    assert.equal(END.exec(shown)?.[0], undefined, path)
  }
})

test('a partner sees the time that the template hides, and so does its owner where the template shows it', async () => {
  await using ben = await signedIn('ben', running({ isTimeDisplayed: false }))
  await using ann = await signedIn('ann', running({}))
  for (const it of [ben, ann]) await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  await ben.viewer.post('/subject', { subject: '1', back: '/locks' })
  for (const it of [ben, ann]) {
    assert.match((await it.viewer.get('/locks')).text, /in 1\sd 23\sh|in 2\sd/)
    assert.match((await it.viewer.get('/locks.csv')).text, /802801/)
    assert.match((await it.viewer.get('/locks/54?view=data')).text, /802801/)
    assert.match((await it.viewer.get('/')).text, />Planned end<\/dt><dd><time title="[^"]*">in (1\sd 23\sh|2\sd)/)
  }
})

test('a running lock says how long it is locked since the last break, on which day, and when it is planned to end', async () => {
  const ago = (days: number) => new Date(Date.parse(start) + (3 - days) * DAY_MS).toISOString()
  const events = [
    lockSegment(7, 'start', start, true),
    lockSegment(8, 'break', ago(2), false),
    lockSegment(9, 'locked', ago(1), true),
  ]
  const lines = running({})
  const session = lines.at(-1) as ReturnType<typeof lockSession>
  const broken = { ...session, data: { ...session.data, LockSegment: events } }
  await using it = await signedIn('ann', [...lines.slice(0, -1), broken])
  await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  const now = /Locked, day\s4\sof\s5 1\sd since the last break Running planned end \d+ \w+( \d+)?, [\d:]+ \( in 2\sd \)/
  assert.match(shownText(await it.viewer.get('/locks')), now)
  const lock = shownText(await it.viewer.get('/locks/54'))
  assert.match(
    lock,
    /Running Locked, day\s4\sof\s5, 1 late break .* So far 3\sd of 5\sd 2\sd locked 1\sd since the last break Breaks 1 1\sd in all, 1 over 30\smin, which adds 10\smin .* → now 24\sh /,
  )
  await it.service.import([{ ...broken, data: { ...broken.data, endDate: ago(-0.5) } }], { onConflict: 'replace' })
  assert.match(shownText(await it.viewer.get('/')), /Locked, day\s4\sof\s4, until [\w, ]*\d+:\d+/)
})

const aMonday = bucketStart('week', 'monday', Math.floor(Date.now() / DAY_MS)) - 7

test('the percent of this week so far comes first, beside what is usual by now and last week, as the API has them', () =>
  assertJudged(2.5))

test('on a Monday the week before is judged, which is over', () => assertJudged(0.5))

async function assertJudged(days: number) {
  mock.timers.enable({ apis: ['Date'], now: (aMonday + days) * DAY_MS })
  try {
    await using service = await sampleService()
    const alex = await visitorAs(service.url, 'alex')
    const locks = shownText(await alex.get('/locks')).replaceAll(/\s/g, ' ')
    const [, now = '', usual, last = '', verdict] =
      /Locked by week (\d+) % of this week so far(, usually \d+(?: to \d+)? % by now)?; last week (\d+) %(?: , ([◆▲▼]))?/.exec(
        locks,
      ) ?? assert.fail()
    const [, week, percent, how = ''] =
      /(So far this|Last) week: locked (\d+) %, (◆ as|[▲▼] above|[▲▼] below)(?= usual)/.exec(locks) ?? assert.fail()
    const shown = await Promise.all(
      ['', '?type=endurance', '?result=passed'].map(search => alex.get(`/training${search}`)),
    )
    const hasVerdict = shown.map(page => /(So far this|Last) week: /.test(shownText(page)))
    assert.deepEqual(hasVerdict, [true, true, false], 'whatever the results')
    const isSoFar = days > 1
    assert.deepEqual([week, percent, usual === undefined], isSoFar ? ['So far this', now, false] : ['Last', last, true])
    // Of a week that is over, the picture says the same.
    assert.equal(verdict, isSoFar ? undefined : how.slice(0, 1))
    for (const [shown, first] of [
      [now, aMonday],
      [last, aMonday - 7],
    ] as const) {
      const query = `bucket=week&from=${formatDate(first)}&to=${formatDate(first + 6)}`
      const { lockedSeconds, lockedPercent } = (await service.fetch(`/api/v1/lkbx/stats?${query}`, 'alex')).body.data
        .total
      const elapsed = Math.min(7 * DAY_MS, Date.now() - first * DAY_MS) / 1000
      assert.equal(Number(shown), Math.round((lockedSeconds * 100) / elapsed), query)
      assert.ok(Math.abs(Number(shown) - lockedPercent) <= 0.5, query)
    }
    const overview = shownText(await alex.get('/')).replaceAll(/\s/g, ' ')
    assert.ok(overview.includes(`${how} usual `), overview)
    assert.match(overview, new RegExp(`${week} week: [\\d,]+ repetitions, [◆▲▼]`))
    assert.match(overview, new RegExp(`Locked \\d+ %.* this week ${now} % A mark is a week`))
  } finally {
    mock.timers.reset()
  }
}

test('a lock that has ended says how long it was locked, its breaks, and how much later or earlier than planned it ended', async () => {
  await using it = await signedIn('ann')
  const text = shownText(await it.viewer.get('/locks/51'))
  assert.match(text, /Weekend Completed, 1\sd 22\sh later than planned 1 Feb( 2026)?, 08:00 – 3 Feb( 2026)?, 08:00 /)
  assert.match(text, / 08:00 Template Three day lock/)
  assert.match(
    text,
    /Lasted 2\sd 1\sd 23\sh 30\smin locked Breaks 1 30\smin in all, none over the limit of 30\smin .* Planned 2\sh /,
  )
  assert.doesNotMatch(text, /\d\s[dh] of \d/)
  const short = shownText(await it.viewer.get('/locks/52'))
  assert.match(short, /Ended early .* Lasted 1\sh/)
  assert.doesNotMatch(short, /than planned/, 'nobody knows whether its length was drawn by chance')
  assert.match(
    shownText(await it.viewer.get('/locks?range=all')),
    /Locks 2 1 ended early Longest stretch .* Weekend 1\sd 22\sh over plan /,
  )
})

test('nobody can say when a lock of random length, or one that was frozen, was planned to end', async () => {
  const frozen = [...events.slice(0, 1), lockSegment(9, 'freeze', '2026-02-01T10:00:00Z', true), ...events.slice(1)]
  await using it = await signedIn('ann', [
    ...world,
    lockTemplate(41, 1, { isRandomDuration: true, minDuration: 3600, maxDuration: 90_000 }),
    lockTemplate(42, 1, {}),
    lockSession(51, 1, ended, { templateId: 41 }),
    lockSession(52, 1, { ...ended, LockSegment: frozen }, { templateId: 42 }),
    lockSession(53, 1, { ...ended, duration: 48 * 3600 }, { templateId: 42 }),
  ])
  for (const id of [51, 52]) assert.doesNotMatch((await it.viewer.get(`/locks/${id}`)).text, /than planned/, String(id))
  assert.match(shownText(await it.viewer.get('/locks/53')), /Completed, as planned .* Lasted 2\sd /)
})

test('a lock says how many of its breaks were longer than its template allows, where that may be shown', async () => {
  const events = [
    lockSegment(1, 'start', '2026-02-01T08:00:00Z', true),
    lockSegment(2, 'break', '2026-02-01T20:00:00Z', false),
    lockSegment(3, 'locked', '2026-02-01T20:30:00Z', true),
    lockSegment(4, 'break', '2026-02-02T20:00:00Z', false),
    lockSegment(5, 'locked', '2026-02-02T20:30:01Z', true),
    lockSegment(6, 'unlocked', '2026-02-03T08:00:00Z', false),
  ]
  const dates = { startDate: '2026-02-01T08:00:00Z', endDate: '2026-02-03T08:00:00Z', LockSegment: events }
  const templates = [{}, { isBreakEnabled: false }, { breakMaximum: 0 }]
  const locks = templates.flatMap((rules, index) => [
    lockTemplate(41 + index, 1, rules),
    lockSession(51 + index, 1, dates, { templateId: 41 + index }),
  ])
  await using it = await signedIn('ann', [...world, ...locks])
  const said = async (id: number) => shownText(await it.viewer.get(`/locks/${id}`))
  assert.match(await said(51), /Breaks 2 1\sh in all, 1 over 30\smin, which adds 10\smin /)
  const { text } = await it.viewer.get('/locks/51')
  const late = tableRows(text, 'timeline')?.map(row => cellTexts(row)[2])
  assert.deepEqual(late, ['30 min', '30 min 1 s over', ''])
  assert.equal(text.match(/<rect class="late" x="[^"]*" width="[^"]*" y="[\d.]+em"/g)?.length, 1)
  assert.match(text, /Over the maximum of a break/)
  const page = shownText(await it.viewer.get('/locks?from=2026-01-26&to=2026-02-15'))
  assert.match(page, /Breaks 6 1 late Locks 3/)
  const after = shownText(await it.viewer.get('/locks?from=2026-02-03&to=2026-02-15'))
  assert.match(after, /Breaks 0 Locks 3 .* Rows count whole locks, .* Lock 51 1 late break /, 'of the whole lock')
  assert.doesNotMatch(await said(52), /maximum/)
  assert.match(await said(53), /Breaks 2 1\sh in all Longest/)
  it.viewer.cookies.set('discreet', '1')
  assert.doesNotMatch(await said(51), /maximum/)
})

test('an end that the template hides, and that nobody knows, reads the same for the owner and a partner', async () => {
  const lines = running({ isTimeDisplayed: false })
  const session = lines.at(-1) as ReturnType<typeof lockSession>
  const data = { ...session.data, endDate: undefined }
  for (const username of ['ann', 'ben'] as const) {
    await using it = await signedIn(username, [...lines.slice(0, -1), { ...session, data }])
    await it.viewer.post('/subject', { subject: '1', back: '/locks' })
    for (const path of ['/locks', '/locks/54'])
      assert.match(
        shownText(await it.viewer.get(path)),
        /Planned end Hidden| The end is hidden /,
        `${username} ${path}`,
      )
  }
})

test('a lock whose planned end has passed is running until its record says when it ended, and a freeze stops its countdown', async () => {
  const lines = running({})
  const session = lines.at(-1) as ReturnType<typeof lockSession>
  await using it = await signedIn('ann', lines)
  const shownWith = async (fields: object) => {
    await it.service.import([{ ...session, data: { ...session.data, ...fields } }], { onConflict: 'replace' })
    await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
    const pages = []
    for (const path of ['/', '/locks', '/locks/54']) pages.push(shownText(await it.viewer.get(path)))
    const [overview = '', locks = '', lock = ''] = pages
    return { overview, locks, lock }
  }
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString()

  const passed = await shownWith({ endDate: ago(DAY_MS + HOUR_MS) })
  for (const text of [passed.overview, passed.locks]) assert.match(text, /[Pp]lanned end [^]*passed 1\sd 1\sh ago/)
  assert.match(passed.lock, /– now/)
  assert.match(passed.lock, /Planned end passed 1\sd 1\sh ago/)
  for (const text of Object.values(passed)) assert.doesNotMatch(text, /\bleft\b|No session is running/)

  const freeze = lockSegment(8, 'freeze', ago(DAY_MS + HOUR_MS), true)
  const frozen = await shownWith({ LockSegment: [lockSegment(7, 'start', start, true), freeze] })
  assert.match(frozen.overview, /Planned end countdown paused/)
  assert.match(frozen.locks, /countdown paused/)
  assert.match(frozen.lock, /Planned end countdown paused/)

  const stated = await shownWith({ lockState: 'frozen' })
  for (const text of [stated.overview, stated.locks]) assert.match(text, /[Cc]ountdown paused/)
  for (const text of Object.values(stated)) assert.doesNotMatch(text, /\bleft\b/)
  const ended = await shownWith({ isActive: false, lockState: 'completed', endDate: ago(17.5 * HOUR_MS) })
  for (const text of [ended.overview, ended.locks]) assert.match(text, /No lock for 17 hours/)
  assert.match(ended.locks, /Last lock ended .+, after \d/)
})

test("a running lock of somebody else counts up to what is known of its owner's records, also where it is opened by its address", async () => {
  await using it = await signedIn('ben', running({}))
  const asOf = new Date(Date.now() - 2 * 86_400_000)
  const accounts = it.service.store.db.updateTable('account')
  await accounts.set({ as_of: Date.now() }).execute()
  await accounts.set({ as_of: asOf.getTime() }).where('id', '=', 1).execute()
  const { text } = await it.viewer.get('/locks/54')
  assert.match(text, /as of 2 days ago/)
  assert.match(text, /<dt>So far<\/dt><dd><span>1\sd</)
  assert.ok(text.includes(`as of <time datetime="${asOf.toISOString()}"`))
  assert.match((await it.viewer.get('/lock-templates/42')).text, />1\sd</)
})

test('a practice lock is marked, and not counted', async () => {
  const figures = []
  for (const isTestLock of [true, false]) {
    await using it = await signedIn('ann', running({ isTestLock }, recently()))
    await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
    for (const path of ['/', '/locks', '/locks/54']) {
      assert.equal(/>Not counted</.test((await it.viewer.get(path)).text), isTestLock, path)
    }
    const page = await it.viewer.get('/locks')
    const shown = shownText(page)
    const tiles = /Locked (\d+\s%) [^B]*(?<!\d)(\d+\s\w) in all Breaks 0 .*?Locks (\d+) (.*?)Longest/.exec(shown)
    const sums = tiles?.slice(1, 4)
    const isNamed = tiles?.[4]?.endsWith('1 not counted ')
    const drawn = figuresOf(page.text, 'Locked').some(percent => (percent ?? 0) > 0)
    const longest = /Longest stretch<\/dt><dd><a[^>]*>([^<]*)</.exec((await it.viewer.get('/year')).text)?.[1]
    figures.push({ sums, isNamed, drawn, longest })
  }
  const [practice, real] = figures
  assert.deepEqual(practice, {
    sums: ['0 %', '0 s', '0'],
    isNamed: true,
    drawn: false,
    longest: '35 h 30 min',
  })
  assert.deepEqual(real, { sums: ['4 %', '3 d', '1'], isNamed: false, drawn: true, longest: '3 d' })
})

/** Ten weeks, of which the first and the last are cut. */
const [FROM, TO] = [100, 31].map(days => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10))

/** More than a year, which is shown by month. */
const [YEAR_AGO, TODAY] = [380, 0].map(days => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10))

/** A lock that ran from noon of one day to another, counted back from today, with a break of six hours after its first day. */
function daysLocked(id: number, from: number, to: number, state = 'completed') {
  const noon = (Math.floor(Date.now() / DAY_MS) + 0.5) * DAY_MS
  const at = (days: number) => new Date(noon - days * DAY_MS).toISOString()
  return lockSession(id, 1, {
    lockState: state,
    startDate: at(from),
    endDate: at(to),
    LockSegment: [
      lockSegment(id * 3, 'start', at(from), true),
      lockSegment(id * 3 + 1, 'break', at(from - 1), false),
      lockSegment(id * 3 + 2, 'locked', at(from - 1.25), true),
    ],
  })
}

const ofHalfAYear = [
  ...world,
  daysLocked(61, 170, 150),
  daysLocked(62, 102, 90),
  daysLocked(63, 80, 77, 'abandoned'),
  daysLocked(64, 33, 10),
]

test('percentages and sums of locks are those of the endpoint, for weeks and for months', async () => {
  await using it = await signedIn('ann', ofHalfAYear)
  await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  const statistics = async (query: string) => (await it.service.fetch(`/api/v1/lkbx/stats?${query}`, 'ann')).body.data
  const { text } = await it.viewer.get(`/locks?from=${FROM}&to=${TO}`)
  const { total, buckets } = await statistics(`from=${FROM}&to=${TO}`)
  const percents = (all: readonly { readonly lockedPercent: number }[]) => all.map(({ lockedPercent }) => lockedPercent)
  assert.deepEqual(figuresOf(text, 'Locked'), percents(buckets))
  assert.ok(new Set(percents(buckets)).size > 3)
  assert.equal(tilesOf(text).get('Locked'), partText(total.lockedSeconds, 70 * 86_400).replaceAll(/\s/g, ' '))
  assert.equal(dataOf(text).get(`longestLockedSeconds ${FROM}/${TO}`), total.longestLockedSeconds)
  assert.match(shownText({ text }), /Breaks 2 Locks 3 /)
  // Of months, the first began before anything was known.
  const months = figuresOf((await it.viewer.get(`/locks?from=${YEAR_AGO}&to=${TODAY}`)).text, 'Locked')
  const known = months.filter(percent => percent !== null)
  const whole = percents((await statistics('bucket=month')).buckets).slice(1 - known.length)
  assert.ok(known.length >= 6 && known.length < months.length)
  assert.deepEqual(known.slice(1), whole)
})

test('the page of locks shows the sessions of a period, and what the period is compared with', async () => {
  await using it = await signedIn('ann', ofHalfAYear)
  await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  const page = await it.viewer.get(`/locks?from=${FROM}&to=${TO}`)
  const rows = tableRows(page.text, 'session-table') ?? []
  assert.deepEqual(
    rows.map(row => /locks\/(\d+)/.exec(row)?.[1]),
    ['64', '63', '62'],
  )
  const csv = /href="(\/locks\.csv[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.deepEqual((await it.viewer.get(csv)).text.match(/^6\d/gm), ['64', '63', '62'])
  const [, link = '', before] =
    /down\sfrom\s<a href="([^"]*)"><data[^>]*>(\d+)\s%<[^ ]* in the 10 weeks before/.exec(page.text) ?? []
  const other = await it.viewer.get(link.replaceAll('&amp;', '&'))
  assert.equal(/ Locked (\d+)\s%/.exec(shownText(other))?.[1], before)
  assert.ok(Number(/ Locked (\d+)\s%/.exec(shownText(page))?.[1]) < Number(before))
  assert.doesNotMatch(
    shownText(await it.viewer.get('/locks?range=52w')),
    /in the 52 weeks before/,
    'of which few days are known',
  )
  const none = shownText(await it.viewer.get('/locks?range=4w&from=2020-01-01&to=2020-01-05'))
  assert.match(none, /No locks There is none in these 5 days\./)
})

test('a running lock has the instants of its status', async () => {
  await using it = await signedIn('ann', running({}))
  await it.service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  const { text } = await it.viewer.get('/locks')
  const status = (await it.service.fetch('/api/v1/status', 'ann')).body.data
  assert.ok(text.includes(`datetime="${new Date(status.plannedEnd).toISOString()}"`))
  const lock = (await it.viewer.get('/locks/54')).text
  assert.ok(lock.includes(`datetime="${new Date(status.lockedSince).toISOString()}"`))
  assert.ok(lock.includes(`data-since="${Date.parse(status.stateSince)}"`))
})
