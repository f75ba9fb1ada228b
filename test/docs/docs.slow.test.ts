import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Folder, makeFolder } from '../support/command.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (page: string) => readFileSync(join(root, page), 'utf8')

test('the README begins with the two commands that set everything up', () => {
  const [first, second] = [...read('README.md').matchAll(/```sh\n(.*)\n```/g)].map(([, command]) => command)
  assert.deepEqual([first, second], ['npm ci && npm run demo', 'npm ci && npm test'])
  assert.ok(readFileSync(join(root, '.ci/run'), 'utf8').includes('npm ci && npm test'))
})

test('the first request of the README is the one the demo prints, and its answer is what the sample gives', async () => {
  const line = blocks(read('README.md'), 'sh').find(block => block.startsWith('curl ')) ?? ''
  const [answer = ''] = blocks(read('README.md'), 'json')
  await using folder = await makeFolder()
  await using demo = folder.start(['demo', '--port', '0', '--database', 'sqlite:demo.db'])
  const [, printed = '', url = '', path = ''] = await demo.says(/^ {2}(curl .*'(http:\/\/[^/]+)(\/.*)')$/m)
  const token = /lks_\w+/.exec(printed)?.[0] ?? ''
  assert.equal(printed.replace(token, 'lks_…').replace(url, 'http://127.0.0.1:5625'), line)

  const response = await fetch(url + path, { headers: { Authorization: `Bearer ${token}` } })
  const text = await response.text()
  const [start, end, ...more] = answer.split(', …')
  assert.deepEqual(more, [])
  assert.ok(text.startsWith(`${start},`), text)
  assert.ok(text.endsWith(end ?? answer), text)
})

const owned = [lockTemplate(1, 4711), trainingSession(2, 4711)]

/** Archives that people have, and the step that docs/archive.md adds for them, before the step that would fail without it. */
const archives: readonly {
  readonly what: string
  readonly records: readonly object[]
  readonly extra?: readonly [step: string, before: string]
  readonly says?: RegExp
}[] = [
  { what: 'an export', records: [account(4711, 'alex'), ...owned] },
  {
    what: 'an export of an account without a tier',
    records: [account(4711, 'alex', { subscriptionTier: null }), ...owned],
    extra: ['account set-tier', 'key create'],
    says: /has no subscription tier/,
  },
  {
    what: 'records without their account',
    records: owned,
    extra: ['account add', 'import'],
    says: /add one with this id first \(account add --id\)/,
  },
]

test('the steps to own records need no npm, which a release does not have', () => {
  const pages = [read('README.md').split('## Install it\n')[1] ?? '', read('docs/your-own-history.md')]
  for (const step of pages.flatMap(page => blocks(page, 'sh')).flatMap(block => block.split('\n')))
    assert.doesNotMatch(step, /^npm /)
})

test('the steps of the README import records, whatever the id of their account', async t => {
  const [, section = ''] = read('README.md').split('### From an archive\n')
  const [, table = ''] = read('docs/archive.md').split('### If an import stops\n')
  const steps = blocks(section, 'sh')[0]?.split('\n') ?? []
  assert.equal(steps.at(-1), './lockstep serve')
  for (const [index, { what, records, extra, says }] of archives.entries()) {
    // Starting a process for each step takes long, so only those of the first archive go through a shell.
    const does = index === 0 ? inShell : inProcess
    await t.test(what, async () => {
      await using folder = await makeFolder()
      await writeExport(folder, records)
      let token = ''
      for (const step of steps.slice(0, -1)) {
        if (extra !== undefined && step.startsWith(`./lockstep ${extra[1]} `)) {
          const without = await does(folder, step)
          assert.equal(without.code, 1)
          assert.match(without.stderr, says ?? /never/)
          const [, added = ''] = new RegExp(`\`(\\./lockstep ${extra[0]} [^\`]+)\``).exec(table) ?? []
          assert.deepEqual((await does(folder, added)).code, 0, added)
        }
        const { code, stdout, stderr } = await does(folder, step)
        assert.equal(code, 0, `${step}: ${stderr}`)
        token = /^lks_\w+$/m.exec(stdout)?.[0] ?? token
      }
      await using running = folder.start(['serve', '--port', '0'])
      const [, url = ''] = await running.says(/Listening on (\S+)/)
      for (const path of ['/api/v1/lkbx/templates/1', '/api/v1/dtt/sessions/2']) {
        assert.equal((await fetch(url + path, { headers: { Authorization: `Bearer ${token}` } })).status, 200, path)
      }
    })
  }
})

/** Leaves the records as an export of another store; where they have no account, as its lines without that of the account. */
async function writeExport(folder: Folder, records: readonly object[]) {
  await using other = await makeFolder()
  const hasAccount = records.some(record => 'kind' in record && record.kind === 'account')
  const complete = hasAccount ? records : [account(4711, 'other'), ...records]
  const input = complete.map(record => JSON.stringify(record)).join('\n')
  await other.succeeds(['import', '-'], { input })
  const { stdout } = await other.run(['export'])
  const isLeftOut = (line: string) => !hasAccount && /^{"kind":"(account|end)"/.test(line)
  const lines = stdout.split('\n').filter(line => !isLeftOut(line))
  writeFileSync(folder.file('records.ndjson'), lines.join('\n'))
}

function inShell(folder: Folder, step: string) {
  return folder.shell(step.replace('./lockstep', '"$0"'))
}

function inProcess(folder: Folder, step: string) {
  const [, ...args] = Array.from(step.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word)
  return folder.run(args)
}

/** What the fenced blocks of a language hold. */
function blocks(text: string, language: string): string[] {
  return Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)\\n\`\`\`$`, 'gm')),
    ([, block = '']) => block,
  )
}
