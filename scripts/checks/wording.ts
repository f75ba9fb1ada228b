import type { Command } from 'commander'
import { makeProgram } from '../../src/cli.ts'
import { openapi } from '../../src/openapi/document.ts'
import { documents, read } from './files.ts'

/**
 * Every document, and how many bytes it may have: what grows beyond is shortened, or says something twice. A page that is generated
 * grows with each endpoint or setting. Those that a recipe of CONTRIBUTING.md adds a line to have room for some.
 */
const MAX_BYTES: Readonly<Record<string, number>> = {
  'README.md': 4920,
  'CHANGELOG.md': 4200,
  'CONTRIBUTING.md': 12_800,
  'SECURITY.md': 2100,
  'bench/README.md': 18_500,
  'docs/api.md': Infinity,
  'docs/architecture.md': 11_500,
  'docs/archive.md': 11_100,
  'docs/asvs.md': 15_200,
  'docs/backups.md': 6500,
  'docs/citus.md': 2500,
  'docs/docker.md': 2550,
  'docs/glossary.md': 2700,
  'docs/integrations.md': 7700,
  'docs/operating.md': 11_900,
  'docs/performance.md': 4500,
  'docs/postgresql.md': 11_400,
  'docs/reliability.md': 6600,
  'docs/security.md': 11_900,
  'docs/troubleshooting.md': 6000,
  'docs/settings.md': Infinity,
  'docs/your-own-history.md': 4800,
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

/** The review by ASVS quotes the standard and titles of tests; the others are records of measurements. */
const QUOTING = ['docs/asvs.md', 'docs/performance.md', 'bench/README.md']

const program = await makeProgram()

/** Where a document, the reference or the help of a command is longer or less usual than it may be. */
export function wordingFaults(): string[] {
  return [
    ...documents.filter(page => MAX_BYTES[page] === undefined).map(page => `${page}: say how long it may be`),
    ...Object.entries(MAX_BYTES).flatMap(([page, most]) => pageFaults(page, most)),
    ...[...new Set(descriptionsIn(openapi()))].flatMap(text => sentenceFaults('reference', text)),
    ...helpsOf(program).flatMap(text => sentenceFaults('help', text)),
  ]
}

function pageFaults(page: string, most: number): string[] {
  const text = read(page)
  const size = Buffer.byteLength(text)
  const isGuide = page.startsWith('docs/') && page !== 'docs/reliability.md' && !QUOTING.includes(page)
  return [
    ...(size > most ? [`${page} has ${size} bytes of ${most}: shorten it`] : []),
    ...(QUOTING.includes(page) ? [] : sentenceFaults(page, text)),
    ...(isGuide ? sentencesOf(text).filter(sentence => EVIDENCE.test(sentence)) : []).map(
      sentence => `${page}: leave to tests how it was found out: ${sentence}`,
    ),
  ]
}

/** The description of a command, of its options and arguments, and of all commands below it. */
function helpsOf(command: Command): string[] {
  const help = command.createHelp()
  return [
    help.commandDescription(command),
    ...help.visibleOptions(command).map(option => help.optionDescription(option)),
    ...help.visibleArguments(command).map(argument => help.argumentDescription(argument)),
    ...command.commands.flatMap(helpsOf),
  ]
}

function sentenceFaults(where: string, text: string): string[] {
  return sentencesOf(text).flatMap(sentence => {
    const words = sentence.split(/\s+/).length
    const unusual = UNUSUAL.filter(([found]) => found.test(sentence))
    return [
      ...(words > MAX_WORDS ? [`${where}: ${words} words: ${sentence}`] : []),
      ...unusual.map(([, usual]) => `${where}: use ${usual}: ${sentence}`),
    ]
  })
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
