// engine: sqlite
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TrainingSession } from '../../../src/contract/training-sessions.ts'
import { importFile, openStore } from '../../support/archives.ts'
import { makeFolder } from '../../support/command.ts'
import { world } from '../../support/records.ts'

const oracle = join(import.meta.dirname, '../../support/table_oracle.py')
const hasPython = spawnSync('python3', ['-c', 'import zoneinfo; zoneinfo.ZoneInfo("Europe/Berlin")']).status === 0

const number = fc.oneof(
  fc.constant(''),
  { arbitrary: fc.nat(5000).map(String), weight: 6 },
  fc
    .tuple(fc.nat(3000), fc.constantFrom('.', ','), fc.nat(9999))
    .map(([whole, mark, part]) => `${whole}${mark}${part}`),
  fc.constantFrom('1,234', '1.234', '0,500', '0.500', '-5', '+7', '1,234,567', '1 234', '12 km', 'NaN', '1e3', '007'),
)
const grade = fc.oneof(
  { arbitrary: fc.nat(100).map(String), weight: 4 },
  fc.constantFrom('', '80%', '80 %', '1,5', '-1', '101', 'good'),
)
const two = (value: number) => String(value).padStart(2, '0')
/** Also in the hours that clocks of this zone skip, and show twice. */
const day = fc.constantFrom([2026, 2, 16], [2025, 7, 1], [2026, 3, 29], [2025, 10, 26], [2024, 2, 29], [2025, 2, 29])
const recorded = fc
  .tuple(day, fc.nat(23), fc.constantFrom('iso', 'iso', 'seconds', 'seconds', 'german', 'german', 'american'))
  .map(([[year = 0, month = 0, of = 0], hour, form]) => (minute: number) => {
    const time = `${two(hour)}:${two(minute)}`
    if (form === 'american') return `${two(month)}/${two(of)}/${year} ${time}`
    if (form === 'german') return `${two(of)}.${two(month)}.${year} ${time}`
    return form === 'iso' ? `${year}-${two(month)}-${two(of)} ${time}` : `${year}-${two(month)}-${two(of)}T${time}:45`
  })
const text = fc.constantFrom('', 'Basics', 'a "quoted" name', 'one, two', 'semi; colon', 'ünïcödé', 'two\nlines')
const passed = fc.constantFrom('yes', 'No', 'TRUE', '0', 'no', 'YES', '1', 'maybe', '')
const file = fc.record({
  rows: fc.array(fc.tuple(recorded, text, passed, grade, number, number), { minLength: 1, maxLength: 12 }),
  delimiter: fc.constantFrom(',', ';', '\t'),
  newline: fc.constantFrom('\n', '\r\n'),
  isMarked: fc.boolean(),
})

const titles = ['Recorded', 'Program', 'Passed', 'Grade', 'Repetitions', 'Distance (m)']
const names = { ',': 'comma', ';': 'semicolon', '\t': 'tab' } as const

const TABLES = 100

test(
  'a hundred random tables are read as another reader of CSV reads them',
  {
    skip: hasPython ? false : 'needs python3 with its time zones',
  },
  async () => {
    await using folder = await makeFolder()
    await using store = await openStore(world)
    const timeZone = 'Europe/Berlin'
    const seed = Date.now()
    const files = fc.sample(file, { numRuns: TABLES, seed }).map(({ rows, delimiter, newline, isMarked }, index) => {
      const quoted = (cell: string) => (/["\n,;\t]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
      // Each in a minute of its own.
      const lines = rows.map(([at, ...cells], minute) => [at(minute), ...cells].map(quoted).join(delimiter))
      const content = `${isMarked ? '\uFEFF' : ''}${[titles.join(delimiter), ...lines].join(newline)}${newline}`
      const path = folder.file(`${index}.${names[delimiter]}`)
      writeFileSync(path, content)
      return { path, content }
    })
    const paths = files.map(({ path }) => path)
    const expected = execFileSync('python3', [oracle, timeZone, ...paths], { encoding: 'utf8' })
      .trimEnd()
      .split('\n')
    const inOrder = (sessions: readonly object[]) => sessions.map(session => JSON.stringify(session)).toSorted()
    let rows = 0
    for (const [index, { content }] of files.entries()) {
      await store.store.db.deleteFrom('training_session').execute()
      await importFile(store, content, { account: 1, timeZone, onError: 'set-aside' })
      const stored = await store.store.db.selectFrom('training_session').select('document').execute()
      const read = stored.map(({ document }) => {
        // The archive wrote it in the form of the contract.
        const session = JSON.parse(document) as TrainingSession
        const {
          created_at: at,
          passed,
          name,
          repsMeasured: reps,
          distanceTravelled: distance = 0,
          TrainerSegment,
        } = session
        return { at, passed, name, grade: TrainerSegment[0]?.percentGrade, reps, distance }
      })
      const right = JSON.parse(expected[index] ?? '') as object[]
      assert.deepEqual(inOrder(read), inOrder(right), `seed ${seed}, table ${index}: ${content}`)
      rows += right.length
    }
    assert.ok(rows > TABLES, `${rows} rows are right`)
  },
)
