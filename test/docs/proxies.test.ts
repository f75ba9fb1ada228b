import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as insecureRequest } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect, type SecureVersion } from 'node:tls'
import { settings } from '../../src/config.ts'
import { freePort } from '../support/postgres.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: sqlite

const deploy = join(import.meta.dirname, '../../deploy')
const hasOpenssl = spawnSync('openssl', ['version']).status === 0

const proxies = [
  { name: 'nginx', sample: 'nginx.conf', version: '-v', start: startNginx, redirect: 301 },
  { name: 'caddy', sample: 'Caddyfile', version: 'version', start: startCaddy, redirect: 308 },
]

for (const { sample: name } of proxies) {
  test(`${name} names known settings, and keeps idle connections for less time than the service`, () => {
    const text = readFileSync(join(deploy, name), 'utf8')
    const proxied = settingsOf(text)
    const known = new Set<string>(Object.values(settings).map(({ env }) => env))
    for (const setting of Object.keys(proxied)) assert.ok(known.has(setting), setting)
    const [, seconds] = /\bkeepalive(?:_timeout)? (\d+)s/.exec(text) ?? []
    assert.ok(Number(seconds) < Number(proxied['LOCKSTEP_KEEP_ALIVE']), text)
  })
}

for (const { name, sample: file, version, start, redirect } of proxies) {
  const skip = spawnSync(name, [version]).status !== 0 || !hasOpenssl ? `${name} or openssl is not installed` : false
  test(`behind ${name}, links, hosts, encryption and the addresses of clients are right`, { skip }, async () => {
    const sample = readFileSync(join(deploy, file), 'utf8')
    const more = { LOCKSTEP_FAILURE_LIMIT: '1', LOCKSTEP_OVERLOAD_LAG: '0' }
    const templates = [1, 2, 3].map(id => lockTemplate(id, 1))
    await using service = await startService([...world, ...templates], { ...settingsOf(sample), ...more })
    const token = await service.token('ann')
    await using proxy = await start(sample, service.service.port)
    const list = '/api/v1/lkbx/templates?limit=1'

    const found = await proxy.get(list, { Authorization: `Bearer ${token}` })
    assert.equal(found.status, 200)
    assert.match(
      String(found.headers['link']),
      /^<https:\/\/history\.example\/api\/v1\/lkbx\/templates\?limit=1&offset=1>/,
    )
    assert.equal((await proxy.get('/signin')).status, 200)
    const moved = await proxy.plain('/settings?saved=account')
    assert.deepEqual(
      [moved.status, moved.headers['location']],
      [redirect, 'https://history.example/settings?saved=account'],
    )
    // A program that sends its key without encryption would not notice a redirect.
    const unencrypted = await proxy.plain(list)
    assert.deepEqual([unencrypted.status, unencrypted.headers['location']], [403, undefined])

    // A client cannot choose the address that counts.
    const wrong = { Authorization: `Bearer lks_${'0'.repeat(36)}` }
    const forged = { ...wrong, 'X-Forwarded-For': '192.0.2.7' }
    assert.equal((await proxy.get(list, wrong, '127.0.0.2')).status, 401)
    assert.equal((await proxy.get(list, forged, '127.0.0.2')).status, 429)
    assert.equal((await proxy.get(list, wrong, '127.0.0.3')).status, 401)

    for (const path of [list, '/signin', '/nothing', '/api/v1/nothing'])
      assert.equal(
        (await proxy.get(path)).headers['strict-transport-security'],
        'max-age=31536000; includeSubDomains',
        path,
      )
    for (const [tls, cipher, isOffered] of TLS_VERSIONS)
      assert.equal(await proxy.handshake(tls, cipher), isOffered, `${tls} ${cipher}`)

    const [mib, form] = [1024 * 1024, { 'Content-Type': 'multipart/form-data; boundary=cut' }]
    const post = async (path: string, bytes: number) =>
      (await proxy.announce(path, { ...form, 'Content-Length': bytes })).status
    assert.notEqual(await post('/source/upload', 256 * mib), 413, 'as large as the service allows')
    if (name === 'nginx') {
      assert.equal(await post('/source/upload', 256 * mib + 1), 413)
      assert.equal(await post('/source/upload/store', 2 * mib), 413, 'nowhere else')
    }

    const health = `${service.url}/healthz`
    assert.equal((await fetch(health)).status, 200, 'commands on this machine can ask')
    const other = await fetch(health.replace('127.0.0.1', 'localhost'))
    assert.equal(other.status, 421, 'other hosts are refused')
  })
}

/** Versions of TLS, with ciphers of theirs, and whether a proxy may offer them. */
const TLS_VERSIONS = [
  ['TLSv1.3', 'TLS_AES_128_GCM_SHA256', true],
  ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256', true],
  ['TLSv1.2', 'ECDHE-ECDSA-AES128-SHA256', false],
  ['TLSv1.2', 'AES128-SHA', false],
  ['TLSv1.1', 'ECDHE-ECDSA-AES128-SHA@SECLEVEL=0', false],
  ['TLSv1', 'ECDHE-ECDSA-AES128-SHA@SECLEVEL=0', false],
] as const

/** The settings in the first comment of a sample. */
function settingsOf(sample: string): Record<string, string> {
  return Object.fromEntries(
    [...sample.matchAll(/^# (LOCKSTEP_[A-Z_]+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
}

/** Runs nginx with the sample as it stands, but for its ports and its certificate. */
async function startNginx(sample: string, port: number) {
  return startProxy('nginx', ({ folder, tlsPort, plainPort }) => {
    const site = sample
      .replaceAll('/etc/letsencrypt/live/history.example', folder)
      .replace('server 127.0.0.1:5625', `server 127.0.0.1:${port}`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${tlsPort} ssl`)
      .replace('listen [::]:443 ssl', `listen [::1]:${tlsPort} ssl`)
      .replace('listen 80', `listen 127.0.0.1:${plainPort}`)
      .replace('listen [::]:80', `listen [::1]:${plainPort}`)
    writeFileSync(join(folder, 'lockstep.conf'), site)
    mkdirSync(join(folder, 'temp'))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${join(folder, 'temp', name)};`,
    )
    const main = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
      events {} http { access_log off; ${temporary.join(' ')} include ${folder}/lockstep.conf; }`
    writeFileSync(join(folder, 'main.conf'), main)
    return ['-e', 'stderr', '-c', join(folder, 'main.conf'), '-p', folder]
  })
}

/** Runs Caddy with the sample as it stands, but for its ports and its certificate. */
async function startCaddy(sample: string, port: number) {
  return startProxy('caddy', ({ folder, tlsPort, plainPort }) => {
    const options = `{
      admin off
      http_port ${plainPort}
      https_port ${tlsPort}
      storage file_system ${folder}
    }`
    const site = sample
      .replace('127.0.0.1:5625', `127.0.0.1:${port}`)
      .replace(/^history.example {/m, `$&\n tls ${folder}/fullchain.pem ${folder}/privkey.pem\n`)
    writeFileSync(join(folder, 'Caddyfile'), `${options}\n${site}`)
    return ['run', '--config', join(folder, 'Caddyfile')]
  })
}

interface Place {
  /** Has `privkey.pem` and `fullchain.pem`. */
  readonly folder: string
  readonly tlsPort: number
  readonly plainPort: number
}

/** Starts a proxy; `configure` writes its files and returns its arguments. */
async function startProxy(program: string, configure: (place: Place) => readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  const [tlsPort, plainPort] = [await freePort(), await freePort()] as const
  const [key, certificate] = [join(folder, 'privkey.pem'), join(folder, 'fullchain.pem')]
  const subject = ['-subj', '/CN=history.example', '-addext', 'subjectAltName=DNS:history.example']
  const form = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1']
  execFileSync('openssl', ['req', '-x509', ...form, ...subject, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  const args = configure({ folder, tlsPort, plainPort })
  const running = spawn(program, args, { stdio: 'ignore', env: { ...process.env, HOME: folder } })
  const ended = once(running, 'exit')
  const ca = readFileSync(certificate)
  const requestTo = (path: string, headers: Readonly<Record<string, string | number>>, more: RequestOptions) =>
    request({
      host: '127.0.0.1',
      port: tlsPort,
      servername: 'history.example',
      path,
      ca,
      agent: false,
      headers: { ...headers, Host: 'history.example' },
      ...more,
    })
  const get = (path: string, headers: Record<string, string> = {}, localAddress = '127.0.0.1') =>
    answerOf(requestTo(path, headers, { localAddress }).end())
  const stop = async () => {
    running.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true })
  }
  try {
    await until(() =>
      get('/healthz').then(
        ({ status }) => status === 200,
        () => running.exitCode !== null,
      ),
    )
  } catch (error) {
    await stop()
    throw error
  }
  return {
    get,
    /** Sends the headers of a form, and nothing of its body. */
    async announce(path: string, headers: Readonly<Record<string, string | number>>) {
      const sent = requestTo(path, headers, { method: 'POST' })
      sent.flushHeaders()
      const answer = await answerOf(sent)
      sent.on('error', () => {}).destroy()
      return answer
    },
    /** Whether the proxy accepts this version and cipher. */
    handshake: (version: SecureVersion, ciphers: string) =>
      new Promise<boolean>(resolve => {
        const offer = { minVersion: version, maxVersion: version, ciphers, ca }
        const socket = connect({ host: '127.0.0.1', port: tlsPort, servername: 'history.example', ...offer })
        const end = (isOffered: boolean) => {
          socket.destroy()
          resolve(isOffered)
        }
        socket.once('secureConnect', () => end(true)).once('error', () => end(false))
      }),
    plain: (path: string) =>
      answerOf(
        insecureRequest({ host: '127.0.0.1', port: plainPort, path, headers: { Host: 'history.example' } }).end(),
      ),
    [Symbol.asyncDispose]: stop,
  }
}

async function answerOf(sent: ReturnType<typeof request>) {
  const [response] = await once(sent, 'response')
  response.resume()
  return { status: response.statusCode as number, headers: response.headers as Record<string, unknown> }
}
