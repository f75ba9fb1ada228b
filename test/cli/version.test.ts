import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { currentVersion } from '../../src/store/migrations.ts'
import { commandOf, ownCommand, version } from '../../src/version.ts'
import { makeFolder, run } from '../support/command.ts'
import { sampleService, visitor } from '../support/dashboard.ts'
import { OUTSIDE_API } from '../support/requests.ts'
import { postgresUrl } from '../support/databases.ts'
import { startHttpServer } from '../support/http-server.ts'
import { makeSource } from '../support/sources/pulls.ts'

test('the program says its version, and with --verbose the engine and the schema of its database', async () => {
  await using folder = await makeFolder()
  const short = await folder.succeeds(['--version'])
  assert.match(short.stdout, /^lockstep \d+\.\d+\.\d+ \((commit [0-9a-f]{12}, )?Node\.js v26\.\d+\.\d+\)\n$/)
  assert.ok(short.stdout.includes(` ${version} `))

  const missing = await folder.run(['--verbose', '--version'])
  if (postgresUrl === undefined) assert.match(missing.stdout, /\ndatabase: there is no database at /)
  await folder.succeeds(['migrate'])
  const { stdout } = await folder.run(['--version', '--verbose'])
  const engine = postgresUrl === undefined ? 'SQLite' : 'PostgreSQL'
  assert.equal(stdout, `${short.stdout}database: ${engine}, schema ${currentVersion} of ${currentVersion}\n`)
  assert.equal((await run(['--verbose'])).code, 2)
})

test('the program names itself as people run it: by its name where deploy/lockstep-command runs it, else in its folder', () => {
  const installed = readFileSync(new URL('../../deploy/lockstep-command', import.meta.url), 'utf8')
  const [, folder = ''] = /exec .* (\S+)\/lockstep "\$@"$/m.exec(installed) ?? []
  assert.equal(commandOf(folder), 'lockstep')
  assert.equal(commandOf('/srv/lockstep-0.1.0'), './lockstep')
  assert.equal(ownCommand, commandOf(join(import.meta.dirname, '../..')))
})

test('pages tell the version to people who are signed in, and to nobody else', async () => {
  await using service = await sampleService()
  const stranger = visitor(service.url)
  for (const path of ['/', '/signin', '/nothing', '/api/v1/me', '/assets/nothing.js', ...OUTSIDE_API]) {
    const { text, headers } = await stranger.get(path)
    assert.ok(!JSON.stringify([text, ...headers]).includes(version), path)
  }
  await stranger.signIn('alex')
  assert.ok((await stranger.get('/')).text.includes(`Lockstep ${version}`))
})

test('a pull tells the server that it reads from which program and version it is', async () => {
  const agents: (string | undefined)[] = []
  await using server = await startHttpServer((request, response) => {
    agents.push(request.headers['user-agent'])
    response.end('{"ok":true,"data":{"id":1}}')
  })
  await makeSource(server.url).get('/me')
  assert.deepEqual(agents, [`Lockstep/${version}`])
})
