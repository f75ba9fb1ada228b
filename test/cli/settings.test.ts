// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig, settings } from '../../src/config.ts'

const wrongPaths = ['~/secret', '$HOME/secret', '"/etc/secret"', '/etc/secret ', '/etc/']
const wrongKeys = ['Bearer lks_1', '"lks_1"', 'lks_…']

/** Values that look right and are not, for each setting. */
const wrong: Readonly<Record<keyof typeof settings, readonly string[]>> = {
  databaseUrl: [
    'mysql://db/lockstep',
    'lockstep.db',
    'sqlite:~/lockstep.db',
    'sqlite:lockstep.db?mode=ro',
    'sqlite::memory:',
    'sqlite:./data/',
  ],
  host: ['a..b', 'http://0.0.0.0', '0.0.0.0:5625', '[::1]', '*', 'tcp://10.0.0.7:5625'],
  port: ['5625/tcp', '65536', ':5625'],
  publicUrl: ['history.example', 'https://history.example/?a=1', 'https://*.example', 'https://a..b'],
  hsts: ['true', 'yes'],
  allowedHosts: ['https://history.example', 'history.example:443', '*.example', '::1', ' , '],
  trustedProxies: ['proxy.example', '10.0.0.1:80', '10.0.0.0/33', '::ffff:10.0.0.1', '*', ','],
  corsOrigins: ['*', 'https://charts.example/', 'charts.example', 'ws://charts.example', 'null'],
  rateLimit: ['600/m', '-1'],
  concurrencyLimit: ['off', '3.5'],
  failureLimit: ['30 ', '1e3'],
  addressConnections: ['30 ', '1e3'],
  pageLimit: ['none'],
  addressPageLimit: ['6,000'],
  headersTimeout: ['0', '10s'],
  requestTimeout: ['0.000', '1m'],
  uploadMax: ['256MB', '-1'],
  keepAlive: ['0', '65s'],
  drainDelay: ['5s', '-1'],
  overloadLag: ['500ms', '0.5'],
  dashboard: ['true'],
  insecureHttp: ['yes'],
  oidcIssuer: ['id.example', 'http://id.example', 'https://id.example/?a', 'https://a:b@id.example'],
  oidcClientId: [' lockstep', '"lockstep"', 'lockstep\n', 'löckstep'],
  oidcClientSecretFile: wrongPaths,
  oidcAuth: ['client_secret_post', 'POST'],
  oidcName: [' ', '"Example ID"', 'Example\nID', 'x'.repeat(65)],
  accessLog: ['stdout'],
  readsDays: ['0', '3y'],
  metricsHost: ['*.example', '127.0.0.1:9464', 'http://127.0.0.1'],
  metricsPort: ['off', '127.0.0.1:9464'],
  sourceUrl: [
    'history.example',
    'https://a:b@c.example',
    'https://c.example/#x',
    "https://'c.example'",
    'https://c.example:22',
  ],
  sourceAccount: ['0', '007', ' ', 'x'.repeat(65)],
  sourceToken: wrongKeys,
  sourceTokenFile: wrongPaths,
  pullRate: ['50/m'],
  pull: ['5m'],
  pullDatabaseUrl: ['lockstep.db', 'sqlite:~/lockstep.db'],
  sourceOrigins: ['http://93.184.215.14', 'https://history.example/', 'https://*.example', ','],
  secretFile: wrongPaths,
  maxRecords: ['2M'],
  maxBytes: ['4GB'],
  url: ['127.0.0.1:5625', 'http://127.0.0.1:0', 'http://*.example'],
  token: wrongKeys,
}

test('a value of a setting that looks right but would never match or have an effect is refused with the form it should have', () => {
  for (const [name, { env }] of Object.entries(settings)) {
    for (const value of wrong[name as keyof typeof settings]) {
      const read = () => readConfig({ [env]: value })
      assert.throws(read, ({ message }: Error) => message.startsWith(`${env} must `), `${env}=${value}`)
    }
  }
})

test('a setting that has no effect without another is refused', () => {
  for (const [env, value, needs] of [
    ['LOCKSTEP_OIDC_CLIENT_ID', 'lockstep', 'LOCKSTEP_OIDC_ISSUER'],
    ['LOCKSTEP_OIDC_CLIENT_SECRET_FILE', '/etc/lockstep-oidc-secret', 'LOCKSTEP_OIDC_ISSUER'],
    ['LOCKSTEP_OIDC_AUTH', 'post', 'LOCKSTEP_OIDC_CLIENT_SECRET_FILE'],
    ['LOCKSTEP_OIDC_NAME', 'Example ID', 'LOCKSTEP_OIDC_ISSUER'],
    ['LOCKSTEP_METRICS_HOST', '0.0.0.0', 'LOCKSTEP_METRICS_PORT'],
  ] as const) {
    const message = `${env} has no effect without ${needs}`
    assert.throws(() => readConfig({ [env]: value }), { code: 'usage', message })
  }
})

test('a setting that is absent or empty has its default', () => {
  const config = readConfig({})
  const names = Object.values(settings).map(({ env }) => env)
  assert.deepEqual(readConfig(Object.fromEntries(names.map(name => [name, '']))), config)
  assert.ok(Object.isFrozen(config))
  for (const { env, fallback, needs } of Object.values(settings)) {
    if (fallback !== '' && needs === undefined) assert.deepEqual(readConfig({ [env]: fallback }), config, env)
  }
})

test('settings are parsed as documented', () => {
  const config = readConfig({
    LOCKSTEP_PUBLIC_URL: 'https://history.example/lock/',
    LOCKSTEP_ALLOWED_HOSTS: ' History.Example , localhost,, ',
    LOCKSTEP_CORS_ORIGINS: 'https://a.example, http://localhost:3000',
    LOCKSTEP_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    LOCKSTEP_PORT: '65535',
    LOCKSTEP_KEEP_ALIVE: '99999',
    LOCKSTEP_REQUEST_TIMEOUT: '7.25',
  })
  assert.deepEqual([config.port, config.keepAlive, config.requestTimeout], [65_535, 99_999_000, 7250])
  assert.equal(config.publicUrl, 'https://history.example/lock')
  assert.deepEqual(config.allowedHosts, ['history.example', 'localhost'])
  assert.deepEqual(config.corsOrigins, ['https://a.example', 'http://localhost:3000'])
  const trusted = ['10.255.0.1', '::1', '11.0.0.1', '::2'].map(address =>
    config.trustedProxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4'),
  )
  assert.deepEqual(trusted, [true, true, false, false])
})
