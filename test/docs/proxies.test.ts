import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings } from '../../src/config.ts'
import { needs } from '../support/programs.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { readSample, settingsOf, startCaddy, startNginx } from '../support/tls-proxies.ts'

// engine: sqlite

const proxies = [
  { name: 'nginx', file: 'nginx.conf', path: '', start: startNginx, redirect: 301 },
  { name: 'nginx', file: 'nginx-path.conf', path: '/lockstep', start: startNginx, redirect: 301 },
  { name: 'caddy', file: 'Caddyfile', path: '', start: startCaddy, redirect: 308 },
  { name: 'caddy', file: 'Caddyfile-path', path: '/lockstep', start: startCaddy, redirect: 308 },
] as const

for (const { file } of proxies) {
  test(`${file} names known settings, and keeps idle connections for less time than the service`, () => {
    const text = readSample(file)
    const proxied = settingsOf(text)
    const known = new Set<string>(Object.values(settings).map(({ env }) => env))
    for (const setting of Object.keys(proxied)) assert.ok(known.has(setting), setting)
    const [, seconds] = /\bkeepalive(?:_timeout)? (\d+)s/.exec(text) ?? []
    assert.ok(Number(seconds) < Number(proxied['LOCKSTEP_KEEP_ALIVE']), text)
  })
}

for (const { name, file, path, start, redirect } of proxies) {
  test(
    `behind ${file}, links, hosts, encryption and the addresses of clients are right`,
    needs(name, 'openssl'),
    async () => {
      const sample = readSample(file)
      const more = { LOCKSTEP_FAILURE_LIMIT: '1', LOCKSTEP_OVERLOAD_LAG: '0' }
      const templates = [1, 2, 3].map(id => lockTemplate(id, 1))
      await using service = await startService([...world, ...templates], { ...settingsOf(sample), ...more })
      const token = await service.token('ann')
      await using proxy = await start(sample, service.service.port)
      const url = settingsOf(sample)['LOCKSTEP_PUBLIC_URL'] ?? ''
      const list = `${path}/api/v1/lkbx/templates?limit=1`

      for (const get of [proxy.get, proxy.getByHttp2]) {
        const found = await get(list, { Authorization: `Bearer ${token}` })
        assert.equal(found.status, 200)
        assert.ok(
          String(found.headers['link']).startsWith(`<${url}/api/v1/lkbx/templates?limit=1&offset=1>`),
          String(found.headers['link']),
        )
        assert.equal((await get(`${path}/signin`)).status, 200)
      }
      for (const address of ['127.0.0.1', '::1']) {
        const moved = await proxy.plain(`${path}/settings?saved=account`, address)
        assert.deepEqual([moved.status, moved.headers['location']], [redirect, `${url}/settings?saved=account`])
        // A program that sends its key without encryption would not notice a redirect.
        const unencrypted = await proxy.plain(list, address)
        assert.deepEqual([unencrypted.status, unencrypted.headers['location']], [403, undefined])
      }

      // A client cannot choose the address that counts.
      const wrong = { Authorization: `Bearer lks_${'0'.repeat(36)}` }
      const forged = { ...wrong, 'X-Forwarded-For': '192.0.2.7' }
      assert.equal((await proxy.get(list, wrong, '127.0.0.2')).status, 401)
      assert.equal((await proxy.get(list, forged, '127.0.0.2')).status, 429)
      assert.equal((await proxy.get(list, wrong, '127.0.0.3')).status, 401)
      assert.equal((await proxy.getByHttp2(list, wrong)).status, 401)
      assert.equal((await proxy.getByHttp2(list, forged)).status, 429)

      // Below a path it is not said for other names: they belong to other programs.
      const lasting = `max-age=31536000${path === '' ? '; includeSubDomains' : ''}`
      for (const address of [list, `${path}/signin`, `${path}/nothing`, `${path}/api/v1/nothing`])
        assert.equal((await proxy.get(address)).headers['strict-transport-security'], lasting, address)
      for (const [tls, cipher, isOffered] of TLS_VERSIONS)
        assert.equal(await proxy.handshake(tls, cipher), isOffered, `${tls} ${cipher}`)

      const [mib, form] = [1024 * 1024, { 'Content-Type': 'multipart/form-data; boundary=cut' }]
      const post = async (page: string, bytes: number) =>
        (await proxy.announce(path + page, { ...form, 'Content-Length': bytes })).status
      assert.notEqual(await post('/source/upload', 256 * mib), 413, 'as large as the service allows')
      if (name === 'nginx') {
        assert.equal(await post('/source/upload', 256 * mib + 1), 413)
        assert.equal(await post('/source/upload/store', 2 * mib), 413, 'nowhere else')
      }

      if (name === 'nginx') {
        const statuses = await proxy.flood(`${path}/healthz`, 300)
        assert.ok(statuses.includes(200) && statuses.includes(429), 'a flood from one address ends at the proxy')
        assert.equal((await proxy.get(`${path}/signin`, {}, '127.0.0.2')).status, 200, 'and others are served')
      }
      const health = `${service.url}/healthz`
      assert.equal((await fetch(health)).status, 200, 'commands on this machine can ask')
      const other = await fetch(health.replace('127.0.0.1', 'localhost'))
      assert.equal(other.status, 421, 'other hosts are refused')
    },
  )
}

for (const file of ['Caddyfile', 'Caddyfile-path']) {
  test(
    `${file} serves with a certificate of its own, where there is no public name`,
    needs('caddy', 'openssl'),
    async () => {
      const sample = readSample(file).replace('# tls internal', 'tls internal')
      await using service = await startService(world, settingsOf(sample))
      await using proxy = await startCaddy(sample, service.service.port)
      const { pathname } = new URL(settingsOf(sample)['LOCKSTEP_PUBLIC_URL'] ?? '')
      assert.equal((await proxy.get(`${pathname}/signin`.replace('//', '/'))).status, 200)
    },
  )
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
