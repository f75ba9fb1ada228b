import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { postgresPrograms, startPostgres } from './support/postgres.ts'

/**
 * Runs all tests on SQLite, then those that go through a service or a store again on a PostgreSQL server of their own.
 * Files named `*.slow.test.ts` run only with `--slow`, and then alone; other words choose files by a part of their path.
 * A file that is about one engine says so: `// engine: sqlite` or `// engine: any` on a line of its own.
 */
const folder = fileURLToPath(new URL('.', import.meta.url))
const isSlow = process.argv.includes('--slow')
const asked = process.argv.slice(2).filter(word => word !== '--slow')
const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts') && name.endsWith('.slow.test.ts') === isSlow)
  .toSorted()
const files = asked.length === 0 ? all : all.filter(name => asked.some(word => name.includes(word)))
if (files.length === 0) throw new Error('no test file has such a name')

let failed = run('SQLite', files)
const onBoth = files.filter(name => {
  const text = readFileSync(`${folder}${name}`, 'utf8')
  return /from '\.\.\/support\/(service|databases)\.ts'/.test(text) && !/^\/\/ engine: /m.test(text)
})
if (onBoth.length > 0) {
  if (postgresPrograms !== undefined) {
    const server = await startPostgres()
    try {
      failed = run('PostgreSQL', onBoth, { TEST_POSTGRES_URL: server.url }) || failed
    } finally {
      server.remove()
    }
  } else if (process.env['CI'] === 'true') {
    process.stderr.write('There is no PostgreSQL server, which in CI is a failure.\n')
    failed = true
  } else {
    process.stderr.write(`Skipped on PostgreSQL, for want of a server: ${onBoth.join(', ')}\n`)
  }
}
process.exitCode = failed ? 1 : 0

/** Whether anything failed. */
function run(engine: string, names: readonly string[], environment: Record<string, string> = {}): boolean {
  process.stdout.write(`\n${engine}: ${names.length} files\n`)
  const { status } = spawnSync(
    process.execPath,
    ['--test', '--test-concurrency=2', '--test-reporter=spec', ...names.map(name => `${folder}${name}`)],
    { stdio: 'inherit', env: { ...process.env, ...environment } },
  )
  return status !== 0
}
