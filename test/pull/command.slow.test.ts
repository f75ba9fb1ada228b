import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Ended, type Folder, makeFolder } from '../support/command.ts'
import { account, lockDevice, lockTemplate, trainingDevice, trainingSession } from '../support/records.ts'
import { until } from '../support/waiting.ts'
import { SOURCE_TOKEN, type SourceServerOptions, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { parseLines, withoutAsOf } from '../support/archives.ts'

// engine: any

const makeWorld = () =>
  new SourceWorld().add(
    account(1, 'ann', { league: 4 }),
    lockDevice(1, 1),
    trainingDevice(1, 1),
    lockTemplate(1, 1),
    trainingSession(1, 1),
    trainingSession(2, 1),
  )

const env = (url: string, more: Record<string, string> = {}) => ({
  LOCKSTEP_SOURCE_URL: url,
  LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN,
  LOCKSTEP_PULL_RATE: '0',
  ...more,
})

function usual(world: SourceWorld): SourceServerOptions {
  return { world, identity: '/users/me' }
}

/** Throws if the token is in what a command said, or in a file of its folder. */
function checkNoToken(folder: Folder, ...ended: readonly Ended[]) {
  for (const { stdout, stderr } of ended) assert.ok(!`${stdout}${stderr}`.includes(SOURCE_TOKEN))
  for (const name of readdirSync(folder.path, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder.path, name)
    if (statSync(path).isFile()) assert.ok(!readFileSync(path).includes(SOURCE_TOKEN), name)
  }
}

test('a pull fills an empty folder, says what it did, and stores the API key nowhere', async () => {
  await using source = await startSource(usual(makeWorld()))
  await using folder = await makeFolder()
  const first = await folder.launch(['pull'], { env: env(source.url) })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /training-session +2 +0 +0 +0 +0/)
  assert.match(first.stderr, /pulled into account 1 \(ann\)/)
  const second = await folder.succeeds(['pull', '--from', `${source.url}/api/v1`, '--json'], {
    env: env('https://other.example'),
  })
  assert.equal(JSON.parse(second.stdout).accountId, 1)
  const status = await folder.run(['pull', 'status', '--json'])
  const [found] = JSON.parse(status.stdout)
  assert.deepEqual(
    [found.username, found.origin, found.rows['training-session'], found.setAside],
    ['ann', source.url, 2, 0],
  )
  const table = await folder.run(['pull', 'status'])
  assert.match(table.stdout, new RegExp(`^account 1 \\(ann\\) from ${source.url}\n`))
  const accounts = await folder.run(['account', 'list'])
  assert.match(accounts.stdout, /ann +ultra/)
  checkNoToken(folder, first, second, status)
  assert.deepEqual(readdirSync(folder.file('data')), ['lockstep.db'])
})

test('a pull without an address goes on with the only known source, and names them if there are several', async () => {
  const world = makeWorld()
  await using source = await startSource(usual(world))
  await using folder = await makeFolder()
  const key = { LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  await folder.refuses(['pull'], 2, /the address of the source is missing: set --from or LOCKSTEP_SOURCE_URL/, {
    env: key,
  })
  await folder.succeeds(['pull', '--from', source.url], { env: key })
  world.add(trainingSession(3, 1))
  const next = await folder.succeeds(['pull'], { env: key })
  assert.match(next.stdout, /training-session +1 +0 +\d+ +0 +0/)

  await using other = await startSource({
    world: new SourceWorld().add(account(2, 'robin')),
    me: 2,
    identity: '/users/me',
  })
  await folder.succeeds(['pull', '--from', other.url], { env: key })
  const several = await folder.run(['pull'], { env: key })
  assert.equal(several.code, 2)
  assert.match(
    several.stderr,
    new RegExp(`--from ${source.url} --account 1 \\(ann\\)\n +--from ${other.url} --account 2 \\(robin\\)`),
  )
  const named = await folder.run(['pull'], { env: { ...key, LOCKSTEP_SOURCE_ACCOUNT: 'robin' } })
  assert.match(named.stderr, /pulled into account 2 \(robin\)/)
})

test('what a pull says tells what to do next, what failed on the way, and what belongs to others', async () => {
  const world = makeWorld().add(account(2, 'robin'), lockTemplate(7, 2))
  await using source = await startSource({ ...usual(world), others: [2] })
  await using folder = await makeFolder()
  source.fault = (_path, index) => (index === 3 ? { status: 503 } : undefined)
  const first = await folder.succeeds(['pull'], { env: env(source.url) })
  assert.match(first.stderr, /responds with status 503; trying again now\n/)
  assert.match(first.stderr, /Next, choose a password.+set-password --account 'ann'\n.+\/signin\n$/s)
  assert.match(first.stdout, /^kind .+ of others$/m)
  assert.match(first.stdout, /^lock-template +1 .+ 1$/m)
  const second = await folder.run(['pull'], { env: env(source.url) })
  assert.doesNotMatch(second.stderr, /Next,|trying/)
})

test('with --every a round that changed something prints one line, and other rounds print none', async () => {
  const world = makeWorld()
  await using source = await startSource(usual(world))
  await using folder = await makeFolder()
  await using running = folder.start(['pull', '--every', '1s'], { env: env(source.url) })
  await running.says(/^\S+Z ann: .*training-session 2 added.*\n/m)
  const before = source.requests.length
  await until(async () => source.requests.length > before + 20)
  world.add(trainingSession(3, 1))
  await running.says(/ann: training-session 1 added\n/)
  assert.equal(running.said.stdout.split('\n').length, 3)
})

test('any failure of the source is reported in one line, exits with 4, and creates nothing', async () => {
  const world = makeWorld()
  await using good = await startSource({ ...usual(world), token: 'another' })
  await using strange = await startSource(usual(world))
  await using nothing = await startSource({ world, withoutLists: ['/lkbx/templates', '/dtt/sessions'] })
  const cases: readonly { url: string; says: RegExp }[] = [
    { url: good.url, says: /refuses the API key \(401, invalid_token\)/ },
    { url: nothing.url, says: /has no lists of this API: is this the right address\?/ },
    { url: strange.url.replace('http', 'https'), says: /does not accept an https connection \(ERR_SSL_WRONG_VERSION_/ },
  ]
  for (const { url, says } of cases) {
    await using folder = await makeFolder()
    const ended = await folder.run(['pull'], { env: env(url) })
    assert.match(ended.stderr, says)
    assert.match(ended.stderr, /^lockstep: .+\n$/, 'one line')
    assert.equal(ended.code, 4)
    assert.ok(!existsSync(folder.file('data/lockstep.db')))
    checkNoToken(folder, ended)
  }
})

test('--out writes a whole archive, or none, and needs no database', async () => {
  await using source = await startSource(usual(makeWorld()))
  await using folder = await makeFolder()
  const written = await folder.succeeds(['pull', '--out', 'history.ndjson'], { env: env(source.url) })
  assert.match(written.stderr, /^wrote 6 records of account 1 \(ann\) to history\.ndjson with \d+ requests$/m)
  const archive = readFileSync(folder.file('history.ndjson'), 'utf8')
  const once = ['account', 'lock-template', 'lock-device', 'training-device']
  const kinds = parseLines(archive).map(({ kind }) => kind)
  assert.deepEqual(kinds, [...once, 'training-session', 'training-session', 'end'])
  writeFileSync(folder.file('token'), `${SOURCE_TOKEN}\n`, { mode: 0o600 })
  const { LOCKSTEP_SOURCE_TOKEN: _, ...others } = env(source.url, { LOCKSTEP_SOURCE_TOKEN_FILE: 'token' })
  const printed = await folder.run(['pull', '--out', '-'], { env: others })
  assert.equal(withoutAsOf(printed.stdout), withoutAsOf(archive))
  source.fault = path => (path.startsWith('/dtt/sessions') ? { status: 403 } : undefined)
  const failed = await folder.run(['pull', '--out', 'none.ndjson'], { env: env(source.url) })
  assert.equal(failed.code, 4)
  assert.deepEqual(readdirSync(folder.path).toSorted(), ['history.ndjson', 'token'])
  await folder.succeeds(['import', 'history.ndjson'])
})

test('--out leaves no records behind when nobody reads its output to the end', async () => {
  const sessions = Array.from({ length: 300 }, (_, index) => trainingSession(index + 10, 1, { name: 'n'.repeat(900) }))
  await using source = await startSource(usual(makeWorld().add(...sessions)))
  await using folder = await makeFolder()
  const { code } = await folder.shell('TMPDIR=. "$0" pull --out - | head -c 10', { env: env(source.url) })
  assert.equal(code, 0)
  const left = readdirSync(folder.path, { recursive: true, encoding: 'utf8' })
  const large = left.filter(name => statSync(join(folder.path, name)).size > 4096)
  assert.deepEqual(large, [])
})

test('a source that refuses the API key ends --every after three rounds', async () => {
  await using source = await startSource(usual(makeWorld()))
  await using folder = await makeFolder()
  await folder.succeeds(['pull'], { env: env(source.url) })
  source.fault = () => ({ status: 401 })
  const { code, stderr } = await folder.run(['pull', '--every', '1s'], { env: env(source.url) })
  assert.equal(code, 4)
  assert.equal(stderr.match(/refuses the API key/g)?.length, 3)
})

test('an id or a name that belongs to another account here stops the pull with 1, unless --account names the id', async () => {
  await using source = await startSource(usual(makeWorld()))
  for (const [id, name, advice] of [
    ['1', 'bob', '--account 1'],
    ['7', 'ann', '--account 7, which then has the id 1'],
    ['7', 'Ann', '--account 7, which then has the id 1'],
  ] as const) {
    await using folder = await makeFolder()
    await folder.succeeds(['account', 'add', '--username', name, '--id', id])
    const refused = await folder.run(['pull'], { env: env(source.url) })
    assert.equal(refused.code, 1, refused.stderr)
    for (const word of ['ann', name, advice]) assert.ok(refused.stderr.includes(word), refused.stderr)
    const other = await folder.run(['pull', '--account', '9'], { env: env(source.url) })
    assert.equal(other.code, 2, other.stderr)
    await folder.succeeds(['pull', '--account', '1'], { env: env(source.url) })
    await folder.succeeds(['pull'], { env: env(source.url) })
    const names = JSON.parse((await folder.run(['account', 'list', '--json'])).stdout).map((row: any) => row.username)
    assert.deepEqual(names.toSorted(), id === '1' ? ['bob'] : ['account-1', name].toSorted())
  }
})

test('a row that cannot be stored ends the pull with 1 when it is rejected first, and with 0 afterwards', async () => {
  const world = makeWorld().add(trainingSession(3, 1, { created_at: 'yesterday' }))
  await using source = await startSource(usual(world))
  await using folder = await makeFolder()
  await folder.refuses(['pull'], 1, /rejected: training-session 3: created_at/, { env: env(source.url) })
  await folder.succeeds(['pull', '--full'], { env: env(source.url) })
})
