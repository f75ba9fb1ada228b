import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openapi } from '../../src/openapi/document.ts'
import { readHelps } from '../support/helps.ts'

// engine: any

/**
 * Every document, and how many bytes it may have: what grows beyond is shortened, or says something twice. A page that is generated
 * grows with each endpoint or setting. Those that a recipe of CONTRIBUTING.md adds a line to have room for some.
 */
const MAX_BYTES: Readonly<Record<string, number>> = {
  'README.md': 5300,
  'CHANGELOG.md': 7000,
  'CONTRIBUTING.md': 11_800,
  'SECURITY.md': 2100,
  'bench/README.md': 14_000,
  'docs/api.md': Infinity,
  'docs/architecture.md': 11_000,
  'docs/archive.md': 10_200,
  'docs/asvs.md': 15_200,
  'docs/backups.md': 6500,
  'docs/citus.md': 3200,
  'docs/docker.md': 2400,
  'docs/glossary.md': 2000,
  'docs/integrations.md': 7700,
  'docs/operating.md': 11_900,
  'docs/performance.md': 8800,
  'docs/postgresql.md': 11_400,
  'docs/reliability.md': 8300,
  'docs/security.md': 11_900,
  'docs/troubleshooting.md': 6000,
  'docs/settings.md': Infinity,
  'docs/your-own-history.md': 4000,
}

const MAX_WORDS = 30

/** Words and constructions that have a usual one next to them. */
const UNUSUAL: readonly (readonly [found: RegExp, usual: string])[] = [
  [/, too[.,;:)]/, '"also" or "including", next to what it adds'],
  [/\brefusals?\b/i, 'error'],
  [/\bbeside\b/i, 'next to'],
  [/\bsent together\b/i, 'batched'],
  [/\bgo(?:es)? back to (?:a|the) (?:earlier|older)\b/i, 'roll back'],
  [/\bways? (?:to|of) sign(?:ing)?[ -]in\b/i, 'sign-in method'],
  [/\bidentifiers?\b/i, 'id'],
  [/\bafter all\b/i, 'the condition itself'],
]

/** Reports how something was found out, which a guide leaves to tests and to docs/reliability.md. */
const EVIDENCE = /\bA test\b|(?<!not )\btried with\b/i

const root = join(import.meta.dirname, '../..')
const read = (page: string) => readFileSync(join(root, page), 'utf8')

test('every document has a length that it keeps', () => {
  const found = ['.', 'docs', 'bench'].flatMap(folder =>
    readdirSync(join(root, folder))
      .filter(name => name.endsWith('.md'))
      .map(name => join(folder, name)),
  )
  assert.deepEqual(found.toSorted(), Object.keys(MAX_BYTES).toSorted())
  for (const [page, most] of Object.entries(MAX_BYTES)) {
    const size = Buffer.byteLength(read(page))
    assert.ok(size <= most, `${page} has ${size} bytes of ${most}: shorten it`)
  }
})

test('documents are written in short sentences and usual words', () => {
  for (const page of Object.keys(MAX_BYTES)) {
    // The review by ASVS quotes the standard and titles of tests; the others are records of measurements.
    if (['docs/asvs.md', 'docs/performance.md', 'bench/README.md'].includes(page)) continue
    assertReadable(page, sentencesOf(read(page)))
  }
})

test('guides say what holds, and leave how it was found out to the tests', () => {
  for (const page of Object.keys(MAX_BYTES)) {
    if (!page.startsWith('docs/') || ['docs/asvs.md', 'docs/reliability.md', 'docs/performance.md'].includes(page))
      continue
    for (const sentence of sentencesOf(read(page))) assert.doesNotMatch(sentence, EVIDENCE, page)
  }
})

test('the reference and the help of commands are written in short sentences and usual words', async () => {
  for (const text of new Set(descriptionsIn(openapi()))) assertReadable('reference', sentencesOf(text))
  for (const [command, help] of await readHelps()) {
    // A description is continued on indented lines.
    const text = help.replaceAll(/\n {4,}/g, ' ').replaceAll(/^ {2}\S+(?:[ ,]\S+)*? {2,}/gm, '\n')
    assertReadable(`lockstep ${command} --help`, sentencesOf(text))
  }
})

test('every file that docs/architecture.md names exists', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  for (const [, file = ''] of read('docs/architecture.md').matchAll(/`([\w/-][\w/.-]*\.ts)`/g)) {
    const isThere = existsSync(join(root, file)) || files.some(name => name === file || name.endsWith(`/${file}`))
    assert.ok(isThere, file)
  }
})

function assertReadable(where: string, sentences: readonly string[]) {
  for (const sentence of sentences) {
    const words = sentence.split(/\s+/).length
    assert.ok(words <= MAX_WORDS, `${where}: ${words} words: ${sentence}`)
    for (const [found, usual] of UNUSUAL) assert.doesNotMatch(sentence, found, `${where}: use ${usual}: ${sentence}`)
  }
}

/** The sentences of a page outside its code: those of paragraphs, items of lists and cells of tables. */
function sentencesOf(page: string): string[] {
  const text = page.replaceAll(/^ *```[^]*?^ *```$/gm, '\n\n').replaceAll(/^ {4}(?! *[-*\d]).*$/gm, '')
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|#+) |\|)/)
    .flatMap(block => (block.startsWith('|') ? block.split(' | ') : [block]))
    .flatMap(block => block.split(/(?<=[.:!?][)*"]*)\s+(?=[A-Z`"*[(])/))
    .map(sentence => sentence.replaceAll(/`[^`]*`/g, '`code`').trim())
    .filter(sentence => sentence !== '')
}

/** Every description and summary of an OpenAPI document. */
function descriptionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) =>
    typeof item === 'string' ? (['description', 'summary'].includes(name) ? [item] : []) : descriptionsIn(item),
  )
}
