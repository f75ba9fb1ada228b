// engine: sqlite
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { text as textOf } from 'node:stream/consumers'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { account } from '../support/records.ts'
import { until } from '../support/waiting.ts'
import { startHttpServer } from '../support/http-server.ts'

test('on an empty store it prints how to pull and import records, and those commands work', async () => {
  await using folder = await makeFolder()
  await using running = folder.start(['serve', '--port', '0', '--database', 'sqlite:own.db'])
  await running.says(/Listening on/)
  await until(async () => running.said.stderr.includes('records.ndjson'))
  const commands = running.said.stderr.split('\n').filter(line => line.startsWith('  ./lockstep '))
  const find = (words: string) => commands.find(line => line.startsWith(`  ./lockstep ${words} `)) ?? words
  const does = async (line: string) => {
    const { code, stdout, stderr } = await folder.shell(line.replace('./lockstep', '"$0"'))
    assert.equal(code, 0, `${line}: ${stderr}`)
    return stdout.trim()
  }
  assert.equal(commands.length, 4)
  assert.match(find('pull'), /^ {2}\.\/lockstep pull --from https:\/\/history\.example --database 'sqlite:own\.db'$/)
  writeFileSync(folder.file('records.ndjson'), `${JSON.stringify(account(4711, 'alex'))}\n`)
  await does(find('import'))
  assert.match(await does(find('account list')), /^4711 +alex +ultra/m)

  await using again = folder.start(['serve', '--port', '0', '--database', 'sqlite:own.db'])
  await again.says(/Listening on/)
  again.process.kill('SIGTERM')
  assert.doesNotMatch((await again.ended).stderr, /no accounts yet/)
})

test('a port that is in use is reported with what to do instead, and no process keeps running', async () => {
  await using folder = await makeFolder()
  await using taken = await startHttpServer(() => {})
  const port = String(taken.port)
  const rows = [
    { args: ['--port', port], says: /port \d+ on 127\.0\.0\.1 is taken: choose others with --host and --port/ },
    { args: ['--port', '0'], env: { LOCKSTEP_METRICS_PORT: port }, says: /taken: .*LOCKSTEP_METRICS_PORT/ },
    { args: ['--port', port], env: { LOCKSTEP_METRICS_PORT: '0' }, says: /choose others with --host and --port/ },
    { args: ['--host', 'nowhere.invalid', '--port', '0'], says: /cannot listen on nowhere\.invalid/ },
    { args: ['--workers', '2', '--port', port], says: /^lockstep: port \d+ on 127\.0\.0\.1 is taken: .*\n$/ },
    {
      args: ['--workers', '2', '--port', '0'],
      env: { LOCKSTEP_METRICS_PORT: port },
      says: /^lockstep: port \d+ on 127\.0\.0\.1 is taken: choose others for metrics.*\n$/,
    },
  ]
  for (const { args, env, says } of rows) {
    const { stdout } = await folder.refuses(['serve', ...args], 2, says, env === undefined ? {} : { env })
    assert.equal(stdout, '')
  }
})

test('the demo works in an empty folder, as often as one likes in a day, and leaves the other API keys of the account alone', async () => {
  await using folder = await makeFolder()
  await using first = await demo(folder, '--port', String(await freePort()))
  assert.match(first.text, /^Sign-in: +alex or robin \/ \S.+$/m)
  assert.match(first.text, /Ctrl\+C stops the demo; its data stays in \.\/data\/demo\.db\./)
  assert.match(first.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.ok(passwordOf(folder.file('data/demo.db'), 'robin'), 'robin can sign in, too')
  const [, bearer = '', address = ''] = /^curl -H 'Authorization: (Bearer .*)' '(.*)'$/.exec(first.curl) ?? []
  assert.equal(bearer, `Bearer ${first.token}`)
  const pasted = await fetch(address, { headers: { Authorization: bearer } })
  assert.equal(pasted.status, 200)
  const { ok, data } = (await pasted.json()) as { ok: boolean; data: { data: object[] } }
  assert.ok(ok && data.data.length === 1)

  const hosts = [
    { host: 'evil.example', status: 421 },
    { host: 'evil.localhost', status: 421 },
    { host: `127.0.0.1.evil.example:${first.port}`, status: 421 },
    { host: `localhost:${first.port}`, status: 200 },
    { host: 'LOCALHOST', status: 200 },
    { host: `[::1]:${first.port}`, status: 200 },
  ]
  for (const { host, status: expected } of hosts) {
    for (const path of ['/api/v1/me', '/healthz']) {
      const answer = await ask(first.url + path, { Host: host, Authorization: `Bearer ${first.token}` })
      assert.equal(answer.status, expected, `${host} ${path}`)
      if (expected === 421) assert.equal(answer.code, 'misdirected_request')
    }
  }

  const create = ['key', 'create', '--database', 'sqlite:data/demo.db', '--account', 'alex', '--name', 'Mine']
  const mine = await Promise.all([1, 2, 3, 4].map(async () => (await folder.run(create)).stdout.trim()))
  assert.match((await folder.run(create)).stderr, /5 active API keys, which is the most/)

  // A second one in the same folder: its port is taken, its sample is there already, and all API keys work.
  await using second = await demo(folder, '--port', String(first.port))
  assert.ok(second.port > first.port)
  assert.match(
    second.running.said.stderr,
    new RegExp(`^Port ${first.port} is taken: this uses ${second.port}\\.$`, 'm'),
  )
  assert.equal(second.sample, first.sample, 'the sample was not made again')
  assert.notEqual(second.token, first.token)
  for (const token of [first.token, second.token, ...mine]) assert.equal((await me(second.url, token)).status, 200)
  assert.match((await folder.run(create)).stderr, /5 active API keys, which is the most/)
  for (const { running } of [first, second]) {
    running.process.kill('SIGINT')
    assert.equal((await running.ended).code, 0)
  }

  await using third = await demo(folder, '--reset', '--port', String(first.port))
  assert.notEqual(third.sample, first.sample, 'the sample was made again')
  assert.equal((await me(third.url, second.token)).code, 'invalid_token')
  assert.equal((await me(third.url, third.token)).status, 200)
})

test('the demo says which settings of another service it ignores, and does', async () => {
  await using folder = await makeFolder()
  const env = {
    LOCKSTEP_DATABASE_URL: `sqlite:${folder.file('own.db')}`,
    LOCKSTEP_PULL_DATABASE_URL: `sqlite:${folder.file('own.db')}`,
    LOCKSTEP_PUBLIC_URL: 'https://history.example',
    LOCKSTEP_ALLOWED_HOSTS: 'history.example',
  }
  await using running = folder.start(['demo', '--port', '0'], { env })
  const [, url = ''] = await running.says(/with sample data: (http:\/\/127\.0\.0\.1:\d+)\n[^]*help import/)
  assert.match(
    running.said.stderr,
    /^The demo ignores LOCKSTEP_DATABASE_URL, LOCKSTEP_PULL_DATABASE_URL, LOCKSTEP_PUBLIC_URL, LOCKSTEP_ALLOWED_HOSTS\.$/m,
  )
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  assert.deepEqual([existsSync(folder.file('own.db')), existsSync(folder.file('data/demo.db'))], [false, true])
})

test('the demo refuses a database that holds other records', async () => {
  await using folder = await makeFolder()
  await folder.run(['account', 'add', '--username', 'ann'])
  const before = await folder.run(['export'])
  for (const more of [[], ['--reset']]) {
    const { code, stdout, stderr } = await folder.run(['demo', ...more, '--database', 'sqlite:data/lockstep.db'])
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /has records that are not the sample: choose another one with --database/)
  }
  assert.equal((await folder.run(['export'])).stdout, before.stdout)
  assert.ok(!existsSync(folder.file('data/demo.db')))
})

/** Starts a demo and reads what it says. `sample` tells one making of the sample from another. */
async function demo(folder: Folder, ...args: string[]) {
  const running = folder.start(['demo', ...args])
  const [text] = await running.says(/^[^]*\n {2}curl .*\n[^]*Your own records:\n.* help pull .*\n.* help import .*\n/)
  const find = (pattern: RegExp) => pattern.exec(text)?.[1] ?? ''
  const url = find(/(http:\/\/\S+)\n/)
  return {
    running,
    text,
    url,
    port: Number(new URL(url).port),
    token: find(/^API key: +(lks_\w+)$/m),
    curl: find(/^ {2}(curl .*)$/m),
    sample: passwordOf(folder.file('data/demo.db'), 'alex'),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

/** The password of the sample as it is kept: salted anew each time the sample is made. */
function passwordOf(file: string, username: string): unknown {
  using database = new DatabaseSync(file, { readOnly: true })
  return database.prepare('select password_hash from account where username = ?').get(username)?.['password_hash']
}

/** An answer of the API, with any Host. */
async function ask(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number | undefined; code: unknown }> {
  const [response] = (await once(get(url, { agent: false, headers }), 'response')) as [IncomingMessage]
  const body = JSON.parse(await textOf(response)) as { code?: unknown }
  return { status: response.statusCode, code: body.code }
}

function me(url: string, token: string) {
  return ask(`${url}/api/v1/me`, { Authorization: `Bearer ${token}` })
}

test('if the service exits because of an internal error, it prints the reason in one line and exits with 1', async () => {
  await using folder = await makeFolder()
  const fault = 'process.once("SIGUSR2", () => setImmediate(() => { throw new Error("out of order") }))'
  await using running = folder.start(['serve', '--port', '0'], {
    env: { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(fault)}"` },
  })
  await running.says(/Listening on/)
  running.process.kill('SIGUSR2')
  const { code, stderr } = await running.ended
  assert.equal(code, 1)
  assert.match(stderr, /^lockstep: the service ends: out of order$/m)
})
