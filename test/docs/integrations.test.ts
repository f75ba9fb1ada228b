// engine: any
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { sampleArchive } from '../../src/demo/sample.ts'
import { startService, type TestService } from '../support/service.ts'

const run = promisify(execFile)
const page = readFileSync(new URL('../../docs/integrations.md', import.meta.url), 'utf8')
let service: TestService
let token: string
let folder: string

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  service = await startService([...sampleArchive(Date.now())].map(line => JSON.parse(line)))
  token = await service.token('alex')
})

after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('the curl example stores a response, and gets a 304 while it is current', async () => {
  const answers = []
  for (let time = 0; time < 2; time += 1) answers.push((await shell('sh', ['-c', example('sh')])).trim())
  assert.deepEqual(answers, ['200', '304'])
  const kept = JSON.parse(readFileSync(join(folder, 'latest.json'), 'utf8'))
  assert.equal(kept.ok, true)
})

const python = spawnSync('python3', ['--version']).error === undefined
test(
  'the Python example prints every training session once',
  { skip: python ? false : 'python3 is missing' },
  async () => {
    const lines = (await shell('python3', ['-c', example('python')])).trim().split('\n')
    const client = await service.as('alex')
    const sessions = await Array.fromAsync(client.all('/api/v1/dtt/sessions', { ownerId: 'me' }))
    assert.deepEqual(
      lines.map(line => line.split('\t')[0]),
      sessions.map(session => session.created_at),
    )
  },
)

test('the Home Assistant sensors read fields that exist', async () => {
  const [, ...resources] = example('yaml').split('- resource: ')
  assert.equal(resources.length, 2)
  for (const resource of resources) {
    const body = await answerOf(resource.split('\n')[0] ?? '')
    const fields = [...resource.matchAll(/value_json\.data\.(\w+)/g)].map(([, field = '']) => field)
    assert.ok(fields.length > 0)
    for (const field of fields) assert.ok(field in body.data, field)
    for (const [, field = ''] of resource.matchAll(/attribute='(\w+)'/g))
      assert.ok(field in body.data.TrainerSegment[0])
  }
})

test('the Grafana panel selects fields that exist', async () => {
  const panel = JSON.parse(example('json'))
  for (const target of panel.targets) {
    const body = await answerOf(target.url)
    const rows = target.root_selector.split('.').reduce((value: any, key: string) => value[key], body)
    assert.ok(rows.length > 50)
    for (const { selector } of target.columns) assert.ok(selector in rows[0], selector)
  }
})

/** The example of a language, as the page shows it. */
function example(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page) ?? []
  assert.ok(code !== undefined, language)
  return code
}

async function shell(command: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, API: service.url, TOKEN: token }
  return (await run(command, [...args], { cwd: folder, env })).stdout
}

async function answerOf(url: string) {
  const { pathname, search } = new URL(url)
  const { status, body } = await service.fetch(pathname + search, token)
  assert.equal(status, 200)
  return body
}
