import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/asvs.md'), 'utf8')

/** The requirements of levels 1 and 2 of ASVS 5.0.0: their sections, and what they count from and to. */
const REQUIREMENTS = `
  1.1:1-2 1.2:1-9 1.3:1-11 1.4:1-3 1.5:1-2
  2.1:1-3 2.2:1-3 2.3:1-4 2.4:1
  3.2:1-2 3.3:1-4 3.4:1-6 3.5:1-5 3.7:1-2
  4.1:1-3 4.2:1 4.3:1-2 4.4:1-4
  5.1:1 5.2:1-3 5.3:1-2 5.4:1-3
  6.1:1-3 6.2:1-12 6.3:1-4 6.4:1-4 6.5:1-5 6.6:1-3 6.8:1-4
  7.1:1-3 7.2:1-4 7.3:1-2 7.4:1-5 7.5:1-2 7.6:1-2
  8.1:1-2 8.2:1-3 8.3:1 8.4:1
  9.1:1-3 9.2:1-4
  10.1:1-2 10.2:1-2 10.3:1-4 10.4:1-11 10.5:1-5 10.6:1-2 10.7:1-3
  11.1:1-2 11.2:1-3 11.3:1-3 11.4:1-4 11.5:1 11.6:1
  12.1:1-3 12.2:1-2 12.3:1-4
  13.1:1 13.2:1-5 13.3:1-2 13.4:1-5
  14.1:1-2 14.2:1-4 14.3:1-3
  15.1:1-3 15.2:1-3 15.3:1-7
  16.1:1 16.2:1-5 16.3:1-4 16.4:1-3 16.5:1-3
  17.1:1 17.2:1-4 17.3:1-2
`

const rows = [...page.matchAll(/^\| (\d+\.\d+\.\d+) \| (.*) \|$/gm)].map(([, number = '', rest = '']) => {
  const [level = '', status = '', subject = '', why = '', ...more] = rest.split(' | ')
  return { number, level, status, subject, why, more }
})

test('every requirement of levels 1 and 2 has one row, in the order of the standard', () => {
  const numbers = REQUIREMENTS.split(/\s+/)
    .filter(part => part !== '')
    .flatMap(part => {
      const [section = '', ranges = ''] = part.split(':')
      return ranges.split(',').flatMap(range => {
        const [first = 0, last = first] = range.split('-').map(Number)
        return Array.from({ length: last - first + 1 }, (_, index) => `${section}.${first + index}`)
      })
    })
  assert.equal(numbers.length, 253)
  assert.deepEqual(
    rows.map(({ number }) => number),
    numbers,
  )
  const ofLevel = (level: string) => rows.filter(row => row.level === level).length
  assert.deepEqual([ofLevel('1'), ofLevel('2')], [70, 183])
})

test('each requirement is met, not met or not applicable, and says why; the page counts them', () => {
  for (const { number, status, subject, why, more } of rows) {
    assert.ok(['met', 'not met', 'not applicable'].includes(status), `${number}: ${status}`)
    assert.ok(subject !== '' && why !== '' && more.length === 0, number)
  }
  const [, ...counts] =
    /(\d+) are met, (\d+) are not met and (\d+) are not applicable/.exec(page.replaceAll('\n', ' ')) ?? []
  assert.deepEqual(
    counts.map(Number),
    ['met', 'not met', 'not applicable'].map(status => rows.filter(row => row.status === status).length),
  )
})

test('every test that a requirement names exists', () => {
  const named = rows.flatMap(({ number, why }) =>
    [...why.matchAll(/`([a-z]+\/[a-z.-]+)` \*([^*]+)\*/g)].map(([, file = '', title = '']) => ({
      number,
      file,
      title,
    })),
  )
  assert.ok(named.length > 100, `${named.length} names`)
  for (const { number, file, title } of named) {
    const path = join(root, 'test', `${file}.test.ts`)
    assert.ok(existsSync(path), `${number}: ${file}`)
    assert.ok(titlesOf(path).includes(title), `${number}: ${file} has no test "${title}"`)
  }
})

test('a requirement that refers to others names earlier ones of this page', () => {
  const known = new Set<string>()
  for (const { number, why } of rows) {
    for (const [, list = ''] of why.matchAll(/\b[Ss]ee ((?:\d+\.\d+\.\d+(?:, )?)+)/g)) {
      for (const other of list.split(', ').filter(part => part !== ''))
        assert.ok(known.has(other), `${number}: ${other}`)
    }
    known.add(number)
  }
})

/** The titles of the tests of a file, with … for what is inserted. */
function titlesOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  return Array.from(
    text.matchAll(
      /\b(?:test|testOnPostgres|testOn)\(\s*(?:'(?:sqlite|postgres)',\s*)?(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`((?:[^`$]|\$\{(?:[^`{}]|`[^`]*`)*\})*)`)/g,
    ),
    ([, single, double, template]) =>
      single?.replaceAll("\\'", "'") ?? double ?? template?.replaceAll(/\$\{(?:[^{}])*\}/g, '…') ?? '',
  )
}
