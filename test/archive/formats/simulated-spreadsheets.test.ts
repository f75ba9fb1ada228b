// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { importFile } from '../../support/archives.ts'
import { signInAs } from '../../support/dashboard.ts'
import { account, trainingSession, trainingTemplate } from '../../support/records.ts'
import { startService } from '../../support/service.ts'

/** How a program saves a table that it has opened. */
interface Spreadsheet {
  readonly delimiter: string
  readonly newline: string
  readonly isMarked?: boolean
  readonly decimalMark?: ',' | '.'
  /** How many digits a number keeps. */
  readonly digits?: number
  readonly quotesAll?: boolean
  /** Whether empty columns and rows are added. */
  readonly isPadded?: boolean
}

const spreadsheets: Readonly<Record<string, Spreadsheet>> = {
  'Excel (English)': { delimiter: ',', newline: '\r\n', isMarked: true, digits: 10, isPadded: true },
  'Excel (German)': { delimiter: ';', newline: '\r\n', isMarked: true, digits: 10, decimalMark: ',' },
  'Excel (French), tabs': { delimiter: '\t', newline: '\r\n', digits: 10, decimalMark: ',' },
  LibreOffice: { delimiter: ',', newline: '\n', quotesAll: true, digits: 15 },
  Numbers: { delimiter: ';', newline: '\r', decimalMark: ',', digits: 15, isPadded: true },
}

function savedBy(rows: readonly (readonly string[])[], given: Spreadsheet): string {
  const { delimiter, newline, isMarked = false, decimalMark = '.', digits = 15, quotesAll = false, isPadded } = given
  const cellOf = (text: string) => {
    if (!/^-?\d+(?:\.\d+)?$/.test(text)) return text
    const number = Number(Number(text).toPrecision(digits))
    // A number that is too long for its cell.
    const shown = text.length > 11 && digits < 15 && Number.isInteger(number) ? number.toExponential(2) : String(number)
    return shown.replace('.', decimalMark).replace('e+', 'E+')
  }
  const quoted = (text: string) =>
    quotesAll || /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text
  const lines = rows.map(row => [...row.map(cellOf), ...(isPadded ? ['', ''] : [])].map(quoted).join(delimiter))
  const last = isPadded ? `${delimiter.repeat(rows[0]?.length ?? 0)}${newline}` : ''
  return `${isMarked ? '\uFEFF' : ''}${lines.join(newline)}${newline}${last}`
}

const typed = fc.record({
  grade: fc.integer({ min: 1, max: 99 }),
  reps: fc.integer({ min: 0, max: 100_000 }),
  distance: fc.double({ min: 0, max: 50_000, noNaN: true }).map(metres => Math.round(metres * 1e6) / 1e6),
  program: fc.constantFrom('', 'Basics', 'Evening; "long", slow', '=SUM(1)', '007'),
})

/** What somebody corrects: the title of a column, what is written, and the values of a record that change. */
const corrections = [
  ['Grade', '100', /"percentGrade":\d+/g, '"percentGrade":100'],
  ['Repetitions', '777', /"repsMeasured":\d+/g, '"repsMeasured":777'],
  ['Passed', 'no', /"passed":true/g, '"passed":false'],
  ['Grade', '101', undefined, ''],
  ['Passed', 'perhaps', undefined, ''],
] as const

test('a file of the pages that a spreadsheet saves changes what somebody corrected in it, and nothing else', async () => {
  await using service = await startService([account(1, 'ann'), trainingTemplate(41, 1, { name: 'Basics' })])
  const ann = await signInAs(service, 'ann')
  const records = async () =>
    new Map(
      (await service.store.db.selectFrom('training_session').selectAll().orderBy('id').execute()).map(
        ({ id, document, made_here, extra }) => [String(id), `${document}${made_here}${extra}`],
      ),
    )
  await fc.assert(
    fc.asyncProperty(
      fc.array(typed, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(...Object.keys(spreadsheets)),
      fc.constantFrom(...corrections),
      fc.nat(),
      async (sessions, name, [title, written, pattern, changed], chosen) => {
        await service.store.db.deleteFrom('training_session').execute()
        const table = sessions.map(({ grade, reps, distance, program }, index) =>
          [`2026-02-${10 + index} 18:0${index}:30`, program, 'yes', grade, reps, distance]
            .map(value => `"${String(value).replaceAll('"', '""')}"`)
            .join(','),
        )
        const header = 'Recorded,Program,Passed,Grade,Repetitions,Distance (m)'
        await importFile(service, [header, ...table].join('\n'), { account: 1 })
        await importOwn(service)
        const before = await records()

        const options = { account: 1, onConflict: 'replace', onError: 'set-aside' } as const
        const csv = (await ann.get('/training.csv?range=all')).text
        const [titles = [], ...rows] = parse(csv, { bom: true })
        const spreadsheet = spreadsheets[name] ?? assert.fail()
        const unchanged = await importFile(service, savedBy([titles, ...rows], spreadsheet), options)
        assert.deepEqual(await records(), before, `${name} alone`)
        // What it shortened too much is refused, and says so.
        for (const { reason } of unchanged.setAside?.rows ?? []) assert.match(reason, /the spreadsheet shortened it/)

        const own = rows.filter(([number]) => /^9\d{8}$/.test(number ?? ''))
        const row = own[chosen % own.length] ?? assert.fail()
        row[titles.indexOf(title)] = written
        const { setAside } = await importFile(service, savedBy([titles, ...rows], spreadsheet), options)
        const id = row[0] ?? ''
        const expected = new Map(before)
        if (pattern === undefined) assert.ok(setAside?.rows.some(({ reason }) => reason.startsWith(title)))
        else expected.set(id, (before.get(id) ?? '').replaceAll(pattern, changed))
        if (title === 'Passed' && pattern !== undefined) assert.notEqual(expected.get(id), before.get(id))
        assert.deepEqual(await records(), expected, `${name}: ${title} ${written}`)
      },
    ),
    { numRuns: 40 },
  )
})

/** Sessions of a server, one with a number that spreadsheets shorten. */
async function importOwn(service: Parameters<typeof importFile>[0]) {
  const sessions = [7, 1_234_567_890_123].map(id =>
    trainingSession(id, 1, {
      created_at: `2026-01-0${id % 9}T18:00:10Z`,
      settings_id: 41,
      distanceTravelled: 12.123456,
    }),
  )
  await importFile(service, sessions.map(line => JSON.stringify(line)).join('\n'))
}
