import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { settingsPage } from '../src/config.ts'
import { api } from '../src/contract/index.ts'
import { openapi } from '../src/openapi/document.ts'
import { generateClientFiles } from './client-files.ts'
import { generateBundles } from './bundles.ts'

interface GeneratedFile {
  readonly path: string
  readonly text: string
}

/** The files that follow from the code and the packages, as they should be. */
export async function generateFiles(): Promise<GeneratedFile[]> {
  return [...(await generateDocs()), ...(await generateBundles())]
}

/** Those that follow from the code alone. */
export async function generateDocs(): Promise<GeneratedFile[]> {
  return [
    { path: join(docs, 'openapi.json'), text: `${JSON.stringify(openapi(), null, 2)}\n` },
    { path: join(docs, 'settings.md'), text: settingsPage() },
    ...generateClientFiles(),
    { path: architecture, text: await withRoutes(readFileSync(architecture, 'utf8')) },
  ]
}

const root = join(import.meta.dirname, '..')
const docs = join(root, 'docs')
const architecture = join(docs, 'architecture.md')

/** The page with its table of routes replaced: one row for each file of the contract that has endpoints. */
async function withRoutes(page: string): Promise<string> {
  const rows: string[] = []
  for (const file of readdirSync(join(root, 'src/resources'))) {
    const routes = await routesIn(file)
    if (routes.length > 0) rows.push(`| ${basename(file, '.ts')} | ${routes.join(', ')} |`)
  }
  return page.replace(/(?<=\n\| File \| .*\n\| --- \| --- \|\n)(?:.+\n)*/, () => `${rows.join('\n')}\n`)
}

/** The endpoints that a file of the contract promises, in the order of the reference. */
async function routesIn(file: string): Promise<string[]> {
  if (file === 'index.ts' || !readdirSync(join(root, 'src/contract')).includes(file)) return []
  const module: object = await import(`../src/contract/${file}`)
  const promised = new Set(Object.values(module).flatMap(value => Object.values(Object(value))))
  return Object.entries(api)
    .filter(([, endpoint]) => promised.has(endpoint))
    .map(([name, { path }]) => `\`${path.replace('/api/v1', '')}\` ${name}`)
}
