// engine: sqlite
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { FormatError } from '../../../src/archive/formats/errors.ts'
import { ImportError } from '../../../src/archive/report.ts'
import { importFile, openStore, readFileOf } from '../../support/archives.ts'
import { world } from '../../support/records.ts'

const fileNamed = (name: string) => readFileSync(new URL(`files/${name}`, import.meta.url))
const options = { account: 1, timeZone: 'Europe/Berlin', onConflict: 'replace' } as const

const AMBIGUOUS = 'has an ambiguous comma or point: write 1234 if it means thousands, or 1.2340 if it is a decimal mark'
const DATES = 'Recorded must be from 1970 to tomorrow'

type Fault = readonly [line: number, reason: string]

/** Files as people have them, and why nothing of them is stored: the problem of the file, or those of its lines. */
const refused: readonly (readonly [name: string, why: string | readonly Fault[]])[] = [
  ['thousands-comma.csv', [[2, `Repetitions ${AMBIGUOUS}; Distance (m) ${AMBIGUOUS}`]]],
  ['thousands-point.csv', [[2, `Repetitions ${AMBIGUOUS}; Distance (m) ${AMBIGUOUS}`]]],
  ['repeated-column.csv', 'the column Passed is there twice: remove one, or give it another title'],
  [
    'day-fraction.csv',
    [[2, 'Duration (s) is less than a second: write parts of a day in seconds, as in 43200 for half a day']],
  ],
  ['grade-fraction.csv', 'the column Grade has fractions such as 0.8: write percents, as in 80 or 80%'],
  [
    'out-of-range.csv',
    [
      [2, 'Grade must be 0 to 100; Repetitions must not be negative; Distance (m) must not be negative'],
      [3, `${DATES}; Grade must be 0 to 100`],
      [4, DATES],
    ],
  ],
  ['locks-open.csv', [[2, 'Ended is missing: only the newest lock may lack it, and the lock of line 3 is newer']]],
  [
    'locks-overlap.csv',
    [
      [2, 'must not overlap the lock of line 3'],
      [3, 'must not overlap the lock of line 2'],
    ],
  ],
  ['title-row.csv', 'the titles of the columns are in line 3: remove the lines above it'],
  ['windows-1252.csv', 'this is text in another encoding: save it as CSV UTF-8'],
]

for (const [name, why] of refused) {
  test(`nothing of ${name} is stored, and whoever brings it reads what to do`, async () => {
    await using store = await openStore(world)
    const before = await store.export()
    await assert.rejects(importFile(store, fileNamed(name), options), (error: unknown) => {
      if (typeof why === 'string')
        assert.deepEqual([error instanceof FormatError, (error as Error).message], [true, why])
      else {
        assert.ok(error instanceof ImportError)
        assert.deepEqual(
          error.errors,
          why.map(([line, reason]) => ({ line, reason })),
        )
      }
      return true
    })
    assert.equal(await store.export(), before)
  })
}

/** What is stored of a file with the lines that cannot be stored set aside: values of its sessions, and the lines. */
async function storedOf(name: string, field: string) {
  await using store = await openStore(world)
  const { setAside } = await importFile(store, fileNamed(name), { ...options, onError: 'set-aside' })
  const lines = (await store.export())
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { kind: string; data: object })
  const sessions = lines.filter(({ kind }) => kind.endsWith('-session')).map(({ data }) => Object.entries(data))
  const values = sessions.map(entries => String(new Map<string, unknown>(entries).get(field)))
  return {
    values: values.toSorted((a, b) => (a < b ? -1 : 1)),
    reasons: setAside?.rows.map(({ line, reason }) => [line, reason]),
  }
}

test('a quotation mark within a cell is the fault of its row alone', async () => {
  const reason = 'has a quotation mark within a cell: write it twice, and put the whole cell in quotation marks'
  assert.deepEqual(await storedOf('stray-quotes.csv', 'created_at'), {
    values: ['2026-02-17T17:00:00Z', '2026-02-19T17:00:00Z'],
    reasons: [
      [2, reason],
      [4, reason],
    ],
  })
})

test('a lock over the hour that clocks show twice has its length, and an hour that they skip is refused', async () => {
  const { values, reasons } = await storedOf('berlin-hours.csv', 'endDate')
  assert.deepEqual(values, ['2026-10-25T01:10:00Z'])
  assert.deepEqual(reasons, [
    [3, 'Started does not exist on that day, because clocks were put forward: write it with its offset, as in +01:00'],
  ])
  const { found } = await readFileOf(fileNamed('berlin-hours.csv'), options)
  assert.deepEqual(
    [...found.converted],
    [
      [
        'times that a clock showed twice on that day to the first that fits',
        { count: 2, before: '2026-10-25 02:50', after: '2026-10-25T00:50:00Z' },
      ],
    ],
  )
})

test('an evening that somebody corrects stays one session, however a spreadsheet saves it', async () => {
  await using store = await openStore(world)
  const counts: unknown[] = []
  for (const name of ['corrected-1.csv', 'corrected-2.csv', 'corrected-3-german.csv', 'corrected-4-columns.csv']) {
    const { kinds } = await importFile(store, fileNamed(name), options)
    const { added, replaced, unchanged } = kinds.find(({ kind }) => kind === 'training-session') ?? {}
    counts.push([added, replaced, unchanged])
  }
  assert.deepEqual(counts, [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [0, 0, 1],
  ])
})

test('units in titles are converted and counted, and a title that may be one of ours is named', async () => {
  await using store = await openStore(world)
  await importFile(store, fileNamed('units.csv'), options)
  assert.match(await store.export(), /"percentGrade":80,.*"durationMeasured":720,.*"distanceTravelled":500[,}]/)
  const { found } = await readFileOf(fileNamed('units.csv'), options)
  assert.deepEqual(found.notRead, [{ title: 'Reps', meant: 'Repetitions' }])
  assert.deepEqual(
    [...found.converted],
    [
      ['Distance (km) to Distance (m)', { count: 1, before: '0.5', after: '500' }],
      ['Duration (min) to Duration (s)', { count: 1, before: '12', after: '720' }],
    ],
  )
})

for (const [name, sessions] of [
  ['cr-only.csv', 2],
  ['list-of-pages.json', 2],
  ['frames.ndjson.zst', 1],
] as const) {
  test(`${name} is read whole`, async () => {
    const { values, reasons } = await storedOf(name, 'passed')
    assert.equal(values.length, sessions)
    assert.deepEqual(reasons, [])
  })
}
