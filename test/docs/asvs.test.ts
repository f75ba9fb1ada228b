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

const rows = ['Not met', 'Met', 'Not applicable'].flatMap(status => {
  const [, section = ''] = page.split(`\n## ${status}\n`)
  const [table = ''] = section.split('\n## ')
  return [...table.matchAll(/^\| (\d+\.\d+\.\d+.*?) \| (.*) \|$/gm)].map(([, numbers = '', text = '']) => ({
    status,
    numbers: expanded(numbers),
    text,
  }))
})

test('every requirement of levels 1 and 2 stands once: as met, as not met, or as not applicable', () => {
  const required = REQUIREMENTS.split(/\s+/)
    .filter(part => part !== '')
    .flatMap(part => {
      const [section = '', ranges = ''] = part.split(':')
      return ranges.split(',').flatMap(range => {
        const [first = 0, last = first] = range.split('-').map(Number)
        return expanded(`${section}.${first}–${section}.${last}`)
      })
    })
  assert.equal(required.length, 253)
  assert.deepEqual(rows.flatMap(({ numbers }) => numbers).toSorted(), required.toSorted())
})

test('each row says how or why; the page counts its requirements', () => {
  for (const { status, text } of rows) {
    const cells = text.split(' | ')
    assert.ok(cells.length === (status === 'Not applicable' ? 1 : 2) && cells.every(cell => cell !== ''), text)
  }
  const [, ...counts] =
    /(\d+) are met, (\d+) are not met and (\d+) are not applicable/.exec(page.replaceAll('\n', ' ')) ?? []
  assert.deepEqual(
    counts.map(Number),
    ['Met', 'Not met', 'Not applicable'].map(
      status => rows.filter(row => row.status === status).flatMap(({ numbers }) => numbers).length,
    ),
  )
})

test('every test and every file that a requirement names exists', () => {
  const named = rows.flatMap(({ text }) => [...text.matchAll(/`([a-z]+\/[a-z.-]+)` \*([^*]+)\*/g)])
  assert.ok(named.length > 80, `${named.length} names`)
  for (const [name, file = '', words = ''] of named) {
    const path = join(root, 'test', `${file}.test.ts`)
    assert.ok(existsSync(path), name)
    assert.equal(titlesOf(path).filter(title => title.startsWith(words)).length, 1, name)
  }
  const places = rows.flatMap(({ text }) => [...text.matchAll(/`((?:src|deploy)\/[\w./-]+)`/g)])
  assert.ok(places.length > 0)
  for (const [, place = ''] of places) assert.ok(existsSync(join(root, place)), place)
})

/** `1.2.6–1.2.8, 1.3.8`: each of them. */
function expanded(numbers: string): string[] {
  return numbers.split(', ').flatMap(range => {
    const [first = '', last = first] = range.split('–')
    const section = first.replace(/\d+$/, '')
    const [from, to] = [first, last].map(number => Number(number.slice(section.length)))
    return Array.from({ length: (to ?? 0) - (from ?? 0) + 1 }, (_, index) => `${section}${(from ?? 0) + index}`)
  })
}

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
