import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { makeFolder } from '../support/command.ts'
import { PASSWORD, sampleService, visitor } from '../support/dashboard.ts'
import { startService } from '../support/service.ts'

// engine: sqlite

const PUBLIC_URL = 'https://home.example/lockstep/'

test('a proxy may remove the path of the public address or not: pages, API, health and files answer both', async () => {
  await using service = await sampleService({ LOCKSTEP_PUBLIC_URL: PUBLIC_URL })
  const token = await service.token('alex')
  const answers = async (path: string) => {
    const response = await fetch(service.url + path, {
      redirect: 'manual',
      headers: { Authorization: `Bearer ${token}`, Accept: 'text/html, */*' },
    })
    return [response.status, response.headers.get('Location'), response.headers.get('Link')]
  }
  for (const path of ['/', '/signin', '/training?range=1y', '/docs', '/openapi.json', '/client.js'])
    assert.deepEqual(await answers(`/lockstep${path}`), await answers(path), path)
  for (const path of ['/healthz', '/readyz', '/api/v1/me', '/assets/dashboard.css'])
    assert.deepEqual([(await answers(`/lockstep${path}`))[0], (await answers(path))[0]], [200, 200], path)
  assert.deepEqual(await answers('/lockstep'), await answers('/'))
  const list = '/api/v1/dtt/sessions?limit=1'
  const next = `<https://home.example/lockstep/api/v1/dtt/sessions?limit=1&offset=1>; rel="next"`
  for (const path of [list, `/lockstep${list}`]) assert.deepEqual(await answers(path), [200, null, next])
  for (const path of ['/lockstepping', '/lockstep/lockstep/', '/lockstep/lockstep/healthz', '/other/healthz'])
    assert.equal((await answers(path))[0], 404, path)
  const { servers } = (await (await fetch(`${service.url}/lockstep/openapi.json`)).json()) as { servers: object[] }
  assert.deepEqual(servers, [{ url: 'https://home.example/lockstep', description: 'This service' }])
})

test('below a path, a browser is offered to install what begins there, once somebody is signed in', async () => {
  await using service = await sampleService({ LOCKSTEP_PUBLIC_URL: PUBLIC_URL })
  const alex = visitor(service.url)
  assert.doesNotMatch((await alex.get('/signin')).text, /rel="manifest"/)
  await alex.post('/signin', { username: 'alex', password: PASSWORD })
  const { text, headers } = await alex.get('/')
  const [, address = ''] = /<link rel="manifest" href="([^"]*)">/.exec(text) ?? []
  assert.equal(address, '/lockstep/app.webmanifest')
  assert.match(headers.get('Content-Security-Policy') ?? '', /; manifest-src 'self';/)
  const response = await fetch(service.url + address)
  assert.match(response.headers.get('Content-Type') ?? '', /^application\/manifest\+json/)
  const app = (await response.json()) as { start_url: string; display: string; icons: { src: string }[] }
  assert.equal(app.display, 'standalone')
  const base = `${service.url}${address}`
  assert.equal(new URL(app.start_url, base).pathname, '/lockstep/')
  for (const { src } of app.icons) assert.equal((await fetch(new URL(src, base))).status, 200)
})

test('below a path, cookies have names of their own, and signing out leaves the data of other programs of the host alone', async () => {
  const seen = async (publicUrl: string) => {
    await using service = await sampleService({ LOCKSTEP_PUBLIC_URL: publicUrl })
    const alex = visitor(service.url)
    const signedIn = await alex.post('/signin', { username: 'alex', password: PASSWORD })
    assert.equal(signedIn.status, 303)
    await alex.post('/display', { discreet: '1', back: '/' })
    const page = await alex.get('/')
    assert.match(page.text, / data-discreet/)
    const names = [...alex.cookies.keys()]
    const suffix = names[0]?.replace('__Host-session', '') ?? ''
    const cookies = signedIn.headers.getSetCookie()
    assert.ok(cookies.every(cookie => /^__Host-[^;]*; Path=\/; /.test(cookie)))
    const { headers } = await alex.post('/signout')
    return { names, suffix, wiped: headers.get('Clear-Site-Data') }
  }
  const root = await seen('https://home.example')
  const first = await seen(PUBLIC_URL)
  const other = await seen('https://home.example/lockstep-of-robin')
  assert.deepEqual(root.names, ['__Host-session', '__Host-known-browser', '__Host-discreet'])
  assert.match(first.suffix, /^-[0-9a-f]{8}$/)
  assert.deepEqual(
    first.names,
    root.names.map(name => name + first.suffix),
  )
  assert.notEqual(first.suffix, other.suffix)
  assert.deepEqual([root.wiped, first.wiped, other.wiped], ['"cache", "storage"', null, null])
})

test('a path that begins like one of the service, or that programs may write differently, is refused at the start', async () => {
  for (const path of ['/my programs', '/übersicht', '/a//b', '/a%2fb', '/a;b'])
    assert.throws(
      () => readConfig({ LOCKSTEP_PUBLIC_URL: `https://home.example${path}` }),
      /LOCKSTEP_PUBLIC_URL must have a path of letters/,
      path,
    )
  const taken = (first: string) => ({ LOCKSTEP_PUBLIC_URL: `https://home.example/${first}/lockstep` })
  const refusal = (first: string) =>
    `LOCKSTEP_PUBLIC_URL must not have a path that begins with /${first}, which the service has itself`
  for (const first of ['readyz', 'docs', 'keys']) {
    await assert.rejects(startService([], taken(first)), { message: refusal(first) })
  }
  await using folder = await makeFolder()
  const { code, stderr } = await folder.run(['serve', '--port', '0'], { env: taken('api') })
  assert.deepEqual([code, stderr], [2, `lockstep: ${refusal('api')}\n`])
})
