// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trainingFields } from '../../src/archive/formats/tables.ts'
import { segmentTypes } from '../../src/contract/training-templates.ts'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { dataOf, figures, type Seen, shownText, tableRows, signInAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000
const ago = (days: number) => formatTimestamp(now - days * DAY_MS)

/** Ann's history: the expected numbers are worked out beside each test. */
const history: readonly object[] = [
  ...records.world,
  records.trainingTemplate(1, 1, { name: 'Even <pace>', isActive: true, message: 'Keep going', toyTagline: 'Firm' }),
  records.trainingTemplate(2, 1, { name: 'Holds', description: 'Long ones' }),
  records.trainingSession(1, 1, {
    name: 'First',
    created_at: ago(1),
    settings_id: 1,
    TrainerSegment: [
      segment(11, 'training', 80, true, 30, 12.5),
      segment(12, 'training', 81, true, 20, 7.5),
      segment(13, 'warmup', 100, true, 10, null),
    ],
  }),
  records.trainingSession(2, 1, {
    name: 'Another',
    passed: false,
    created_at: ago(3),
    settings_id: 2,
    TrainerSegment: [segment(21, 'endurance', 41, false, 5, 1), segment(22, 'endurance', 60, true, 6, 2)],
  }),
  records.trainingSession(3, 1, { name: 'Third', created_at: ago(20), settings_id: 1, TrainerSegment: [] }),
  records.trainingSession(
    4,
    1,
    {
      name: 'Old',
      passed: false,
      created_at: ago(40),
      settings_id: 9,
      TrainerSegment: [segment(41, 'training', 70, true, 100, 50)],
    },
    { legacyUpload: true },
  ),
  records.trainingSession(5, 3, { name: 'Of somebody else', created_at: ago(2), settings_id: 1 }),
]

function segment(
  id: number,
  type: string,
  percentGrade: number,
  passed: boolean,
  reps: number,
  distance: number | null,
) {
  return records.trainerSegment(id, { type, percentGrade, passed, repsMeasured: reps, distanceTravelled: distance })
}

async function open(lines: readonly object[] = history, username = 'ann') {
  const service = await startService(lines, unlimited)
  const reader = await signInAs(service, username)
  return {
    service,
    reader,
    async page(path: string) {
      const seen = await reader.get(path)
      assert.equal(seen.status, 200, `${path}: ${seen.text.slice(0, 200)}`)
      return shownText(seen)
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

/** The identifiers of the sessions in the table, in its order. A page without the table says that no session fits. */
function listed({ text }: Seen): number[] {
  const rows = tableRows(text, 'session-table')
  if (rows === undefined) assert.match(text, /<h2>No session/)
  return (rows ?? []).map(row => Number(/href="\/training\/(\d+)"/.exec(row)?.[1]))
}

test('the overview has the last session, this week, twelve weeks as links, and the year in a line', async () => {
  await using ann = await open()
  const { text } = await ann.reader.get('/')
  // (80 + 81 + 100) / 3 = 87
  assert.match(shownText({ text }), /Last session 87 % grade Passed Even <pace> 60 repetitions yesterday/)
  const weeks = dataOf((await ann.reader.get('/training')).text)
  const [, days = ''] = [...weeks.keys()].find(of => of.startsWith('sessions'))?.split(' ') ?? []
  for (const name of ['reps', 'medianGrade']) {
    const of = `${name} ${days}`
    assert.equal(dataOf(text).get(of), weeks.get(of), of)
  }
  assert.match(
    text,
    /<a href="\/training#repetitions">[^]*<a href="\/training#grades">[^]*<a href="\/year">Year \d{4}<\/a>/,
  )
  assert.match(text, /<h1>Overview<\/h1>/, 'too little is known for news')
  assert.doesNotMatch(shownText({ text }), /\block/i)
  assert.doesNotMatch(text, /% of \w+ locked|% of the time/)
})

test('a weekly goal is in the week of the overview', async () => {
  await using ann = await open()
  await ann.reader.post('/settings', { timeZone: 'UTC', units: 'metric', weeklyGoal: '2500' })
  assert.match(await ann.page('/'), /Weekly goal: \d+ of 2,500 repetitions/)
})

test('without sessions the page does not show 0 %, but says what it will show and leads to where records come in', async () => {
  await using ann = await open([records.account(1, 'ann')])
  for (const path of ['/', '/training', '/training?range=all', '/programs']) {
    const text = await ann.page(path)
    assert.match(text, /Connect a server[^]*Upload a file/, path)
    assert.match(text, /Example/, path)
    assert.doesNotMatch(text, /\b0\s*%/, path)
  }
  const filtered = await open()
  await using _ = filtered
  const text = await filtered.page('/training?type=bounce')
  assert.match(text, /No session matches No session in the last 12 weeks matches the filters\. Clear filters/)
  assert.equal(tableRows((await filtered.reader.get('/training?type=bounce')).text, 'session-table'), undefined)
  assert.doesNotMatch(text, /\b0\s*%/)
})

test('filters are read from the address, and the page says what changed', async () => {
  await using ann = await open()
  const shown = async (query: string) => listed(await ann.reader.get(`/training${query}`))
  assert.deepEqual(await shown(''), [1, 2, 3, 4])
  assert.deepEqual(await shown('?range=4w'), [1, 2, 3])
  assert.deepEqual(await shown('?range=4w&result=passed'), [1, 3])
  assert.deepEqual(await shown('?result=not-passed'), [2, 4])
  // A type keeps the sessions that have any segment of it.
  assert.deepEqual(await shown('?type=warmup'), [1])
  assert.deepEqual(await shown('?type=training'), [1, 4])
  assert.deepEqual(await shown('?program=2'), [2])
  assert.deepEqual(await shown(`?day=${ago(3).slice(0, 10)}`), [2])
  assert.deepEqual(await shown('?sort=reps'), [4, 1, 2, 3])
  assert.deepEqual(await shown('?sort=grade&order=ascending'), [3, 2, 4, 1])
  // Invalid values in an address are ignored.
  assert.deepEqual(await shown('?range=9w&result=maybe&program=x&sort=y&page=0&day=2026-02-30'), [1, 2, 3, 4])
  assert.deepEqual(await shown('?page=99'), [1, 2, 3, 4])
  assert.match(await ann.page('/training?range=4w'), /Sessions 3 2 passed \( 67 % \) /)
  // A page without sessions leads to those that match at other times.
  const empty = (await ann.reader.get(`/training?program=2&day=${ago(1).slice(0, 10)}`)).text
  const [, address = ''] = /<a href="([^"]*)">1 session at other times/.exec(empty) ?? []
  assert.deepEqual(await shown(address.replaceAll('&amp;', '&').replace('/training', '')), [2])
})

test('repetitions and distances count whole sessions', async () => {
  await using ann = await open()
  const { text } = await ann.reader.get('/training?range=all')
  const { text: byDistance } = await ann.reader.get('/training?range=all&measure=distance')
  const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0)
  assert.equal(sum(figures(text, 'Repetitions')), 60 + 11 + 0 + 100)
  assert.equal(sum(figures(byDistance, 'Distance (m)')), 20 + 3 + 50)
})

test('a week alone has its figures, and no pictures of one week', async () => {
  await using ann = await open()
  const page = (first: number) => ann.reader.get(`/training?from=${ago(first).slice(0, 10)}&to=${ago(1).slice(0, 10)}`)
  const week = await page(7)
  assert.match(shownText(week), /Repetitions 71 Distance 23/)
  assert.match(week.text, /id="grades"/)
  assert.doesNotMatch(week.text, /id="(repetitions|distance)"|whole week/)
  assert.match((await page(8)).text, /id="repetitions"[^]*href="[^"]*measure=distance[^"]*#distance">Distance</)
})

test('CSV has the rows that are shown, in their order', async () => {
  await using ann = await open()
  const csv = await ann.reader.get('/training.csv?sort=reps&result=not-passed')
  assert.equal(csv.headers.get('Content-Type'), 'text/csv; charset=utf-8')
  assert.match(csv.headers.get('Content-Disposition') ?? '', /^attachment; filename="training-\d{4}-\d\d-\d\d\.csv"$/)
  // Fields that the contract has got since, which these lack.
  const titles = trainingFields.map(({ title }) => `,${title}`).join('')
  const none = ','.repeat(trainingFields.length)
  assert.equal(
    csv.text,
    [
      `Number,Recorded,Program number,Program,Passed,Grade,Segments,Repetitions,Distance (m),Approximate distance${titles}`,
      `4,${ago(40)},9,,no,70,1,100,50,yes${none}`,
      `2,${ago(3)},2,Holds,no,51,2,11,3,no${none}`,
      '',
    ].join('\r\n'),
  )
})

test('a training session shows its result, its segments against their targets, and the call that returns it', async () => {
  await using ann = await open()
  const text = await ann.page('/training/1')
  // 3 segments of 61 seconds each.
  assert.match(
    text,
    /Even <pace> First .* 3 min 3 s .* Grade 87 % Passed mean of 3 segments Repetitions 60 Distance 20 m Segments passed 2 of 2 1 more without a passing grade /,
  )
  assert.match(text, /1 Training 80 % 1:01 of 1:00 30 of 20 12\.5 m 2 Training 81 %/)
  const { text: page } = await ann.reader.get('/training/1')
  assert.match(page, />Earlier</)
  assert.doesNotMatch(page, />Later</)
  assert.match(await ann.page('/training/4'), /Repetitions 100 Distance ≈ 50 m/)
  assert.match(await ann.page('/training/3'), /– Passed Repetitions 0 .*This session has no segments\./)
  const token = await ann.service.token('ann')
  const data = (await ann.reader.get('/training/1?view=data')).text
  const [, shown = ''] = /<pre[^>]*><code>([^]*?)<\/code>/.exec(data) ?? []
  const sent = (await ann.service.fetch('/api/v1/dtt/sessions/1', token)).body
  assert.deepEqual(JSON.parse(shown.replaceAll('&quot;', '"')), sent)
  assert.match(data, /\/api\/v1\/dtt\/sessions\/1&quot;/)
})

test('a session is compared with what is usual with its program, whoever looks at it', async () => {
  const session = (id: number, grade: number, program = 1, more: readonly ReturnType<typeof segment>[] = []) =>
    records.trainingSession(id, 1, {
      created_at: ago(30 - id),
      settings_id: program,
      TrainerSegment: [segment(id * 10, 'training', grade, true, 10, 1), ...more],
    })
  const before = [90, 94, 10, 92, 93].map((grade, index) => session(index + 1, grade))
  const later = [session(6, 96), session(7, 92), session(8, 80), session(9, 20, 2), session(10, 100)]
  const mixed = session(11, 98, 1, [segment(111, 'warmup', 0, true, 10, 1)])
  await using ann = await open([
    ...records.world,
    records.trainingTemplate(1, 1, { name: 'Even <pace>' }),
    ...before,
    ...later,
    mixed,
  ])
  assert.match(await ann.page('/training/5'), /93 % Passed Repetitions/)
  // 10, 90, 92, 93, 94; with each later one.
  assert.match(await ann.page('/training/6'), /96 % Passed ▲\s3\spoints above usual \(90 to 93\s%\)/)
  assert.match(await ann.page('/training/7'), /92 % Passed ◆\sgrade as usual \(90 to 94\s%\)/)
  assert.match(await ann.page('/training/8'), /80 % Passed ▼\s10\spoints below usual \(90 to 94\s%\)/)
  assert.doesNotMatch(await ann.page('/training/9'), /usual/)
  assert.match(
    await ann.page('/training'),
    /Passed 80 %\s▼ below usual .* Passed 92 % 10 1.* Passed 96 %\s▲ above usual /,
  )
  // Segments of one type are compared among themselves.
  assert.match(await ann.page('/training'), / Passed 49 %\s▼ below usual 20 2/)
  assert.match(await ann.page('/training?type=training'), / Passed 98 %\s▲ above usual 10 1/)
  assert.match((await ann.reader.get('/programs/1')).text, /<path class="usual"/)
  const ben = await signInAs(ann.service, 'ben')
  assert.match(shownText(await ben.get('/training/6')), /96 % Passed ▲\s3\spoints above usual \(/)
})

test('a session has its place among those of its program, and the last ten of it as links', async () => {
  const sessions = Array.from({ length: 12 }, (_, index) =>
    records.trainingSession(index + 1, 1, {
      created_at: ago(30 - index),
      settings_id: 1,
      passed: index !== 5,
      TrainerSegment: [segment(index + 1, 'training', 60 + index, index !== 5, 100 - index, 5)],
    }),
  )
  await using ann = await open([...records.world, records.trainingTemplate(1, 1, { name: 'Pace' }), ...sessions])
  assert.match(await ann.page('/training/12'), /71 % Passed .* best of 12 with this program /)
  assert.match(await ann.page('/training/10'), / third best of 12 /)
  assert.doesNotMatch(await ann.page('/training/9'), / best of 12/)
  const { text } = await ann.reader.get('/training/12')
  const [, list = ''] = /<ol class="last-ten">([^]*?)<\/ol>/.exec(text) ?? []
  assert.deepEqual(
    [...list.matchAll(/href="\/training\/(\d+)"/g)].map(([, id]) => Number(id)),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  )
  assert.match(list, /href="\/training\/12" title="[^"]*, passed" aria-current="true"/)
  assert.match(list, /href="\/training\/6" title="[^"]*, not passed"/)
})

test('a session that was not passed says how many of its segments were not, and which if it is one', async () => {
  const TrainerSegment = [true, false, false].map((passed, index) => segment(index, 'training', 70, passed, 10, 1))
  const Segment = [records.templateSegment(1, { repeat: 2, passGradeThreshold: 75 })]
  await using ann = await open([
    ...records.world,
    records.trainingSession(1, 1, { created_at: ago(1), passed: false, TrainerSegment }),
    records.trainingSession(2, 1, { created_at: ago(2), passed: true, TrainerSegment }),
    records.trainingTemplate(1, 1, { Segment, updatedAt: ago(2.5) }),
    records.trainingSession(3, 1, { created_at: ago(3), passed: false, TrainerSegment: TrainerSegment.slice(0, 2) }),
  ])
  for (const path of ['/', '/training/1']) assert.match(await ann.page(path), / Not passed 2 segments not passed /)
  assert.match(await ann.page('/training/1'), / Passing grade of a segment: 75\s% Not passed Segment /)
  assert.match(
    await ann.page('/training/3'),
    / Not passed segment 2 Training 70 %, passes at 75 % .*Segments passed 1 of 2 .* Passing grade of a segment, as the program has it now: 75 % Not passed Segment /,
  )
  assert.doesNotMatch(await ann.page('/training/2'), / Passed \d segments/)
})

test('a program shows its facts, its segments, and the sessions with it', async () => {
  await using ann = await open()
  assert.match(
    await ann.page('/programs'),
    /Least passed in the last ten: Holds , 0 of 1 \(0 %\) Grades of the last ten, 40 to 100\s% Passed/,
  )
  assert.match(await ann.page('/programs'), / Even <pace> Active .* 87 % 1 of 1 .* Holds .* 0 of 1 3 days ago/)
  const text = await ann.page('/programs/1')
  assert.match(
    text,
    / One line 2 segments: 2 min Summary .* settings and dates Segments Warm.up 1 min.*, Training 1 min.* Message Keep going/,
  )
  assert.match(text, /Sessions passed 2 of 2 100 %/)
})

test('a program shows what fails: the grades of the last ten sessions, shaded by the passing grade, and what was not passed', async () => {
  const result = (id: number, type: string, repsMeasured: number, repsTarget: number, more: object = {}) =>
    records.trainerSegment(id, { type, repsMeasured, repsTarget, durationMeasured: 65, durationTarget: 60, ...more })
  const session = (id: number, TrainerSegment: readonly object[]) =>
    records.trainingSession(id, 1, { created_at: ago((id < 6 ? 140 : 40) - id), settings_id: 1, TrainerSegment })
  const both = (id: number, reps: number, target: number, more: object = {}) =>
    session(id, [result(id * 10, 'training', reps, target, more), result(id * 10 + 1, 'bounce', 7, 8)])
  await using ann = await open([
    ...records.world,
    records.trainingTemplate(1, 1, {
      name: 'Even <pace>',
      Segment: ['training', 'bounce'].map((type, id) => ({
        id,
        type,
        duration: 60,
        repeat: 1,
        passGradeThreshold: 60,
      })),
    }),
    both(1, 1, 1, { percentGrade: 61 }),
    ...Array.from({ length: 9 }, (_, index) => both(index + 2, 70 + index, 80, index < 4 ? { percentGrade: 70 } : {})),
    both(11, 85, 90, { durationTarget: 70, passed: false }),
    // It ended early, which changes no target.
    session(12, [result(120, 'training', 86, 90, { durationTarget: 70 })]),
  ])
  const text = await ann.page('/programs/1')
  assert.match(text, /1 Training 60 % [\d ]+ Not passed \d+ \d+ 2 Bounce/)
  assert.match(text, /2 Bounce 60 % \d+ \d+ [^–]*–/)
  assert.match(text, /Last 10 sessions 1 Training not passed in 1 of 10 /)
  const { text: page } = await ann.reader.get('/programs/1')
  assert.match(page, /class="day run (one|two|three|more)">\d+<[^]*class="day run none"><svg class="plane mark hollow"/)
  const { text: training } = await ann.reader.get('/training')
  const step =
    /Since the beginning, median grade: <a href="([^"]*)"><data value="(\d+)" data-of="([^"]*)">\d+\s%<[^→]* \([^→]*\) → <a href="([^"]*)"/
  const [, address = '', value, of = '', last = ''] = step.exec(training) ?? []
  const lengths = [address, last].map(one => {
    const [from = NaN, to] = one.match(/\d{4}-\d\d-\d\d/g)?.map(day => Date.parse(day)) ?? []
    return (to ?? from) - from
  })
  assert.ok((lengths[0] ?? 0) > 0)
  assert.equal(lengths[0], lengths[1])
  assert.equal(dataOf((await ann.reader.get(address.replaceAll('&amp;', '&'))).text).get(of), Number(value))
  assert.match(text, /Sessions passed 12 of 12 100 % All sessions/)
  const shown = [...(await ann.reader.get('/programs/1')).text.matchAll(/<th[^>]*><a href="\/training\/(\d+)"/g)]
  assert.deepEqual(
    shown.map(([, id]) => Number(id)),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  )
})

test('a program says how its grade developed, by the medians of its first and of its last ten sessions', async () => {
  const lines = Array.from({ length: 24 }, (_, index) => {
    const TrainerSegment = [records.trainerSegment(index, { percentGrade: 60 + index })]
    return records.trainingSession(index + 1, 1, { created_at: ago(40 - index), TrainerSegment })
  })
  await using ann = await open([...records.world, records.trainingTemplate(1, 1), ...lines])
  for (const path of ['/programs', '/programs/1']) assert.match(await ann.page(path), / 79 % \(first\sten 65 %\) /)
})

test('records of others are shown if they gave access, and do not exist otherwise', async () => {
  await using ben = await open(history, 'ben')
  assert.match(await ben.page('/training'), /No training sessions yet/)
  for (const path of ['/training/5', '/training/99', '/training/x', '/programs/99']) {
    assert.equal((await ben.reader.get(path)).status, 404, path)
  }
  // By its identifier, and by the choice of whose records are shown.
  assert.match(await ben.page('/training/1'), /87 % Passed/)
  assert.match(await ben.page('/programs/2'), /Holds/)
  for (const path of ['/training/1', '/programs/2']) {
    const { text } = await ben.reader.get(path)
    assert.match(text, /<strong>Records of ann<[^]*>My records</, path)
    assert.match(text, /<title>Lockstep – [^<]* \(ann\)<\/title>/, path)
  }
  assert.doesNotMatch((await ben.reader.get('/training')).text, /class="banner"/)
  await ben.reader.post('/subject', { subject: '1', back: '/training' })
  assert.deepEqual(listed(await ben.reader.get('/training')), [1, 2, 3, 4])
  assert.match(await ben.page('/'), /Last session 87 %/)
})

test('in discreet mode no name, type or text is anywhere in a page', async () => {
  await using ann = await open()
  ann.reader.cookies.set('discreet', '1')
  const said = [
    'First',
    'Another',
    'Third',
    'Even',
    'Holds',
    'A program',
    'One line',
    'A message',
    'Keep going',
    'Firm',
    'Long ones',
  ]
  const paths = [
    '/',
    '/training',
    '/training?type=type-b',
    '/training/1',
    '/training/1?view=data',
    '/programs',
    '/programs/1',
  ]
  for (const path of paths) {
    const { status, text } = await ann.reader.get(path)
    assert.equal(status, 200)
    for (const word of said) assert.ok(!text.includes(word), `${path} says ${word}`)
    for (const type of segmentTypes.filter(type => type !== 'training' && type !== 'repetition')) {
      assert.ok(!text.includes(type), `${path} says ${type}`)
    }
  }
  assert.deepEqual(listed(await ann.reader.get('/training?type=type-b')), [1, 4])
  assert.match(await ann.page('/training/1'), /1 Type B .* 3 Type A/)
  assert.match(await ann.page('/programs'), /Program 1/)
})

test('no page sets styles of its own, and none may', async () => {
  await using ann = await open()
  for (const path of ['/', '/training', '/training/1', '/programs', '/programs/1', '/locks', '/year', '/settings']) {
    const { headers, text } = await ann.reader.get(path)
    assert.match(headers.get('Content-Security-Policy') ?? '', /style-src 'self';/, path)
    assert.doesNotMatch(text, / style=/, path)
  }
})

test('days are those of the zone of the account', async () => {
  const at = '2026-01-31T23:30:00Z'
  await using ann = await open([...records.world, records.trainingSession(1, 1, { created_at: at })])
  assert.match(await ann.page('/training/1'), /31 Jan( 2026)?, 23:30/)
  await ann.reader.post('/settings', { timeZone: 'Europe/Berlin', units: 'imperial' })
  assert.match(await ann.page('/training/1'), /1 Feb( 2026)?, 00:30/)
  assert.deepEqual(listed(await ann.reader.get('/training?day=2026-02-01')), [1])
  assert.deepEqual(listed(await ann.reader.get('/training?day=2026-01-31')), [])
})

test('the grades of a period are compared with those of the weeks before; of a beginning with few grades, the page says nothing', async () => {
  const grades = { 120: 80, 110: 90, 100: 90, 60: 80, 40: 85, 20: 80 }
  const lines = Object.entries(grades).map(([days, grade], id) =>
    records.trainingSession(id + 1, 1, {
      created_at: ago(Number(days)),
      TrainerSegment: [segment(id + 1, 'training', grade, true, 1, null)],
    }),
  )
  await using ann = await open([...records.world, ...lines])
  const text = await ann.page('/training')
  assert.match(text, / Median grade 80 % down\s+from\s+90 % in the 12 weeks before/)
  assert.doesNotMatch(text, /Since the beginning/)
})

test('the median grade of each type is that of the page of its type', async () => {
  const lines = Array.from({ length: 9 }, (_, index) =>
    records.trainingSession(index + 1, 1, {
      created_at: ago(20 - index),
      TrainerSegment: [
        segment(index * 3 + 1, 'warmup', 100, true, 1, null),
        segment(index * 3 + 2, 'freeform', 92 - (index % 2), true, 1, null),
        segment(index * 3 + 3, 'training', 90 + (index % 2), true, 1, null),
      ],
    }),
  )
  await using ann = await open([...records.world, ...lines])
  const { text } = await ann.reader.get('/training')
  const medians = [...text.matchAll(/<li><a href="([^"]*type=\w+)">[^<]*<\/a><data value="(\d+)" data-of="([^"]*)"/g)]
  assert.deepEqual(
    medians.map(([, , value]) => Number(value)).toSorted((a, b) => a - b),
    [90, 92, 100],
  )
  for (const [, address = '', value, of = ''] of medians)
    assert.equal(dataOf((await ann.reader.get(address.replaceAll('&amp;', '&'))).text).get(of), Number(value), of)
})
