import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generateDocs } from '../../scripts/generated-docs.ts'
import { settings, settingsWithoutEffect } from '../../src/config.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
  'bench/README.md',
]
const read = (page: string) => readFileSync(join(root, page), 'utf8')

test('the docs that follow from the code are up to date', () => {
  for (const { path, text } of generateDocs()) {
    assert.ok(readFileSync(path, 'utf8') === text, `${path} is out of date: run npm run docs`)
  }
})

test('the packages for browsers are of the versions that the lock file names', () => {
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> }
  for (const file of ['plot.js', 'webauthn-create.js', 'webauthn-get.js']) {
    const sources = read(`src/dashboard/assets/${file}`).match(/^node_modules\/.*/gm) ?? []
    assert.ok(sources.length > 0, `${file} names its packages`)
    for (const source of sources) {
      const folder = source.split(' ')[0] ?? ''
      assert.equal(source, `${folder} ${lock.packages[folder]?.version}`, file)
    }
  }
})

test('every setting is used', () => {
  const code = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts') && file !== 'config.ts')
    .map(file => readFileSync(join(root, 'src', file), 'utf8'))
    .join('\n')
  // As a property of the configuration, or where it is taken apart.
  const isUsed = (name: string) =>
    new RegExp(
      String.raw`\b(?:config|settings|options)\.${name}\b|\{[^{}]*\b${name}\b[^{}]*\}\s*(?::\s*(?:Config|Pick<Config)\b|= (?:this\.#)?config\b)`,
    ).test(code)
  assert.deepEqual(
    Object.keys(settings).filter(name => !isUsed(name)),
    [],
  )
  assert.ok(!isUsed('dashboardPath'), 'a name that no code reads is found')
})

test('every setting the docs name exists', () => {
  const tests = join(root, 'test')
  const known = new Set<string>([...Object.values(settings).map(({ env }) => env), ...settingsWithoutEffect])
  for (const file of readdirSync(tests, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    for (const [, name = ''] of readFileSync(join(tests, file), 'utf8').matchAll(/\['(LOCKSTEP_TEST_[A-Z]+)'\]/g))
      known.add(name)
  }
  for (const page of pages) {
    for (const [name] of read(page).matchAll(/\bLOCKSTEP_[A-Z_]+\b/g)) assert.ok(known.has(name), `${page}: ${name}`)
  }
})

test('every script the docs run exists', () => {
  const { scripts } = JSON.parse(read('package.json'))
  for (const page of pages) {
    for (const [, name = ''] of read(page).matchAll(/npm run ([a-z:-]+)/g))
      assert.ok(name in scripts, `${page}: ${name}`)
  }
})

test('every link within the docs has a target, and its anchor a heading there', () => {
  for (const page of pages) {
    for (const [, target = '', anchor] of read(page).matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)) {
      if (/^https?:/.test(target)) continue
      const file = target === '' ? page : join(dirname(page), target)
      assert.ok(existsSync(join(root, file)), `${page}: ${target}`)
      if (anchor !== undefined) assert.ok(anchorsOf(read(file)).includes(anchor), `${page}: ${target}#${anchor}`)
    }
  }
})

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

/** Archives that people have, and the step that the README adds for them, before the step that would fail without it. */
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
    says: /add it under this id first \(account add --id\)/,
  },
]

test('the steps to own records need no npm, which a release does not have', () => {
  const pages = [read('README.md').split('## Install it\n')[1] ?? '', read('docs/your-own-history.md')]
  for (const step of pages.flatMap(page => blocks(page, 'sh')).flatMap(block => block.split('\n')))
    assert.doesNotMatch(step, /^npm /)
})

test('the steps of the README import records, whatever the id of their account', async t => {
  const [, section = ''] = read('README.md').split('## Records from an archive\n')
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
          const [, added = ''] = new RegExp(`\`(\\./lockstep ${extra[0]} [^\`]+)\``).exec(section) ?? []
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
  assert.equal((await other.run(['import', '-'], { input })).code, 0)
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
