import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { join } from 'node:path'
import { read, root } from './files.ts'

const page = read('docs/asvs.md')

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

/** Where the review of docs/asvs.md lacks a requirement, miscounts, or names what does not exist. */
export function asvsFaults(): string[] {
  return [...requirementFaults(), ...rows.flatMap(rowFaults), ...countFaults()].map(fault => `docs/asvs.md: ${fault}`)
}

/** Every requirement stands once: as met, as not met, or as not applicable. */
function requirementFaults(): string[] {
  const required = REQUIREMENTS.split(/\s+/)
    .filter(part => part !== '')
    .flatMap(part => {
      const [section = '', ranges = ''] = part.split(':')
      return ranges.split(',').flatMap(range => {
        const [first = 0, last = first] = range.split('-').map(Number)
        return expanded(`${section}.${first}–${section}.${last}`)
      })
    })
  const found = rows.flatMap(({ numbers }) => numbers)
  return [
    ...required.filter(number => !found.includes(number)).map(number => `${number} is missing`),
    ...found.filter((number, index) => !required.includes(number) || found.indexOf(number) !== index),
  ]
}

/** Each row says how or why, and the tests and files that it names exist. */
function rowFaults({ status, text }: (typeof rows)[number]): string[] {
  const cells = text.split(' | ')
  const isComplete = cells.length === (status === 'Not applicable' ? 1 : 2) && cells.every(cell => cell !== '')
  const tests = [...text.matchAll(/`([a-z]+\/[a-z.-]+)` \*([^*]+)\*/g)]
  const places = [...text.matchAll(/`((?:src|deploy|scripts)\/[\w./-]+)`/g)].map(([, place = '']) => place)
  return [
    ...(isComplete ? [] : [`an empty cell in ${text}`]),
    ...tests.filter(([, file = '', words = '']) => !isTitle(file, words)).map(([name]) => `there is no test ${name}`),
    ...places.filter(place => !existsSync(join(root, place))).map(place => `there is no ${place}`),
  ]
}

/** The page counts its requirements. */
function countFaults(): string[] {
  const [, ...counts] =
    /(\d+) are met, (\d+) are not met and (\d+) are not applicable/.exec(page.replaceAll('\n', ' ')) ?? []
  const countOf = (status: string) => rows.filter(row => row.status === status).flatMap(({ numbers }) => numbers).length
  const found = ['Met', 'Not met', 'Not applicable'].map(countOf)
  return isDeepStrictEqual(counts.map(Number), found) ? [] : [`there are ${found.join(', ')}, not ${counts.join(', ')}`]
}

/** `1.2.6–1.2.8, 1.3.8`: each of them. */
function expanded(numbers: string): string[] {
  return numbers.split(', ').flatMap(range => {
    const [first = '', last = first] = range.split('–')
    const section = first.replace(/\d+$/, '')
    const [from, to] = [first, last].map(number => Number(number.slice(section.length)))
    return Array.from({ length: (to ?? 0) - (from ?? 0) + 1 }, (_, index) => `${section}${(from ?? 0) + index}`)
  })
}

/** Whether one test of a file has a title that begins with these words. */
function isTitle(file: string, words: string): boolean {
  const path = `test/${file}.test.ts`
  return existsSync(join(root, path)) && titlesOf(read(path)).filter(title => title.startsWith(words)).length === 1
}

/** The titles of the tests in a text, with … for what is inserted. */
function titlesOf(text: string): string[] {
  return Array.from(
    text.matchAll(
      /\b(?:test|testOnPostgres|testOn)\(\s*(?:'(?:sqlite|postgres)',\s*)?(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`((?:[^`$]|\$\{(?:[^`{}]|`[^`]*`)*\})*)`)/g,
    ),
    ([, single, double, template]) =>
      single?.replaceAll("\\'", "'") ?? double ?? template?.replaceAll(/\$\{(?:[^{}])*\}/g, '…') ?? '',
  )
}
