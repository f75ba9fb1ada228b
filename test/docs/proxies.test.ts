import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings } from '../../src/config.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { readSample, settingsOf, startCaddy, startNginx, whyNoProxy } from '../support/tls-proxies.ts'

// engine: sqlite

const proxies = [
  { name: 'nginx', file: 'nginx.conf', start: startNginx, redirect: 301 },
  { name: 'caddy', file: 'Caddyfile', start: startCaddy, redirect: 308 },
] as const

for (const name of ['nginx.conf', 'nginx-path.conf', 'Caddyfile', 'Caddyfile-path']) {
  test(`${name} names known settings, and keeps idle connections for less time than the service`, () => {
    const text = readSample(name)
    const proxied = settingsOf(text)
    const known = new Set<string>(Object.values(settings).map(({ env }) => env))
    for (const setting of Object.keys(proxied)) assert.ok(known.has(setting), setting)
    const [, seconds] = /\bkeepalive(?:_timeout)? (\d+)s/.exec(text) ?? []
    assert.ok(Number(seconds) < Number(proxied['LOCKSTEP_KEEP_ALIVE']), text)
  })
}

for (const { name, file, start, redirect } of proxies) {
  const skip = whyNoProxy(name)
  test(`behind ${name}, links, hosts, encryption and the addresses of clients are right`, { skip }, async () => {
    const sample = readSample(file)
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
