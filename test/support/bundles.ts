import { hash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { makeModules } from '../../scripts/program.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache/lockstep-bundles')
const MAX_AGE_MS = 24 * 3_600_000

/**
 * Makes a bundle of the program, as a release has it, and of the packages with the most modules: loading 1,600 files takes a
 * process longer than most of what tests do in it. Bundles of the same files are used again. Returns the settings with which each
 * Node.js uses them; a test that gives one other `NODE_OPTIONS` runs the files of the checkout.
 */
export async function makeBundles(): Promise<Readonly<Record<string, string>>> {
  const folder = join(CACHE, keyOf([...globSync('{src,scripts}/**/*.*', { cwd: ROOT }), 'package-lock.json']))
  if (existsSync(folder)) utimesSync(folder, new Date(), new Date())
  else await makeIn(folder)
  const loader = join(import.meta.dirname, 'bundles-loader.js')
  return { TEST_BUNDLES: folder, NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${loader}`.trim() }
}

function keyOf(files: readonly string[]): string {
  const states = files.map(file => hash('sha256', readFileSync(join(ROOT, file))))
  return hash('sha256', [...files, ...states].join('\n')).slice(0, 16)
}

async function makeIn(folder: string) {
  mkdirSync(CACHE, { recursive: true })
  for (const name of readdirSync(CACHE)) {
    const { mtimeMs } = statSync(join(CACHE, name))
    if (Date.now() - mtimeMs > MAX_AGE_MS) rmSync(join(CACHE, name), { recursive: true, force: true })
  }
  const made = mkdtempSync(`${folder}-`)
  await makeModules(ROOT, made)
  await build({
    cwd: ROOT,
    input: { kysely: 'kysely', typebox: 'typebox', 'typebox-value': 'typebox/value' },
    platform: 'node',
    output: { dir: join(made, 'packages'), entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  })
  try {
    renameSync(made, folder)
  } catch (error) {
    // Another run was faster.
    rmSync(made, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}
