import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { settings } from '../../src/config.ts'
import { generateDocs } from '../generated-docs.ts'
import { documents, filesIn, read, root } from './files.ts'

/** Where a document names something that does not exist, or is older than the code it follows from. */
export async function documentFaults(): Promise<string[]> {
  const generated = await generateDocs()
  return [
    ...generated
      .filter(({ path, text }) => readFileSync(path, 'utf8') !== text)
      .map(({ path }) => `${path} is out of date: run npm run docs`),
    ...unusedSettings(),
    ...documents.flatMap(page => [...nameFaults(page), ...linkFaults(page)]),
    ...unknownFiles(),
  ]
}

/** Settings that no code reads: as a property of the configuration, or where it is taken apart. */
function unusedSettings(): string[] {
  const code = filesIn('src')
    .filter(file => file.endsWith('.ts') && file !== 'config.ts')
    .map(file => read(`src/${file}`))
    .join('\n')
  const isUsed = (name: string) =>
    new RegExp(
      String.raw`\b(?:config|settings|options)\.${name}\b|\{[^{}]*\b${name}\b[^{}]*\}\s*(?::\s*(?:Config|Pick<Config)\b|= (?:this\.#(?:options\.)?)?config\b)`,
    ).test(code)
  return Object.keys(settings)
    .filter(name => !isUsed(name))
    .map(name => `no code reads the setting ${name}`)
}

const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> }

const knownSettings = new Set<string>([
  ...Object.values(settings).map(({ env }) => env),
  ...filesIn('test')
    .filter(file => file.endsWith('.ts'))
    .flatMap(file => read(`test/${file}`).match(/\bLOCKSTEP_TEST_[A-Z]+\b/g) ?? []),
])

/** Settings and scripts that a document names, but nothing else does. */
function nameFaults(page: string): string[] {
  const text = read(page)
  const unknown = (text.match(/\bLOCKSTEP_[A-Z_]+\b/g) ?? []).filter(name => !knownSettings.has(name))
  const runs = Array.from(text.matchAll(/npm run ([a-z:-]+)/g), ([, name = '']) => name)
  return [...unknown, ...runs.filter(name => !(name in scripts))].map(name => `${page}: there is no ${name}`)
}

/** Links within the documents without a target, or whose anchor no heading has. */
function linkFaults(page: string): string[] {
  return [...read(page).matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)].flatMap(([, target = '', anchor]) => {
    if (/^https?:/.test(target)) return []
    const file = target === '' ? page : join(dirname(page), target)
    const isThere = existsSync(join(root, file)) && (anchor === undefined || anchorsOf(read(file)).includes(anchor))
    return isThere ? [] : [`${page}: ${target}${anchor === undefined ? '' : `#${anchor}`} leads nowhere`]
  })
}

/** The anchors that a forge gives to the headings of a page. */
function anchorsOf(text: string): string[] {
  const headings = text.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)
  return Array.from(headings, ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Files that docs/architecture.md names, but nobody has. */
function unknownFiles(): string[] {
  const files = filesIn('src')
  return Array.from(read('docs/architecture.md').matchAll(/`([\w/-][\w/.-]*\.ts)`/g), ([, file = '']) => file)
    .filter(file => !existsSync(join(root, file)))
    .filter(file => !files.some(name => name === file || name.endsWith(`/${file}`)))
    .map(file => `docs/architecture.md: there is no ${file}`)
}
