import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sampleService, type Seen, visitor, type Visitor, visitorAs } from '../support/dashboard.ts'
import { exchange, header } from '../support/raw.ts'
import { startService, type TestService } from '../support/service.ts'
import { METHODS } from 'node:http'
import { OUTSIDE_API } from '../support/requests.ts'

// engine: sqlite

/** A response of any kind, with what it answers. */
interface Answer extends Omit<Seen, 'to'> {
  readonly what: string
}

/** One page of each pattern of addresses, found by following every link from the overview on. */
async function crawl(person: Visitor): Promise<Answer[]> {
  const waiting = ['/', '/docs']
  const seen = new Set<string>()
  const found: Answer[] = []
  for (const path of waiting) {
    const pattern = path.replace(/[?#].*/, '').replaceAll(/\d+/g, ':id')
    if (seen.has(pattern)) continue
    seen.add(pattern)
    const answer = await person.get(path)
    found.push({ what: path, ...answer })
    if (!isPage(answer)) continue
    for (const [, link = ''] of answer.text.matchAll(/\b(?:href|src)="([^"]*)"/g)) {
      const { origin, pathname, search } = new URL(link.replaceAll('&amp;', '&'), `http://here${path}`)
      if (origin === 'http://here') waiting.push(pathname + search)
    }
  }
  return found
}

const isPage = ({ headers }: Pick<Seen, 'headers'>) => headers.get('Content-Type')?.startsWith('text/html') === true

let service: TestService
let answers: readonly Answer[]
before(async () => {
  service = await sampleService()
  answers = await everyAnswer()
})
after(() => service[Symbol.asyncDispose]())

async function everyAnswer(): Promise<Answer[]> {
  const found: Answer[] = []
  const note = (what: string, { to: _, ...answer }: Seen) => found.push({ what, ...answer })
  const stranger = visitor(service.url)
  const token = await service.token('alex')
  const list = '/api/v1/dtt/sessions?limit=1'
  const asProgram = { Accept: '*/*', Authorization: `Bearer ${token}` }

  const first = await stranger.get(list, asProgram)
  note('a list', first)
  note('304', await stranger.get(list, { ...asProgram, 'If-None-Match': first.headers.get('ETag') ?? '' }))
  note('no key', await stranger.get(list, { Accept: '*/*' }))
  note('a wrong parameter', await stranger.get('/api/v1/dtt/sessions?limit=0', asProgram))
  note('no record', await stranger.get('/api/v1/dtt/sessions/999999', asProgram))
  note('no route', await stranger.get('/api/v1/nothing', { Accept: '*/*' }))
  note('another method', await stranger.post(list, {}, asProgram))
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/client.js', '/client.d.ts', '/nothing'])
    note(path, await stranger.get(path, { Accept: '*/*' }))

  for (const path of ['/', '/signin', '/nothing', '/locks.csv', `/invitation/${'A'.repeat(43)}`, '/signin/oidc'])
    note(`${path} without a session`, await stranger.get(path))
  note('a wrong password', await stranger.signIn('alex', 'a wrong password'))
  note('a form of another site', await stranger.post('/signin', {}, { 'Sec-Fetch-Site': 'cross-site' }))
  note('a form that is too large', await stranger.post('/signin', { username: 'a'.repeat(70_000) }))

  const alex = visitor(service.url)
  note('signing in', await alex.signIn('alex'))
  found.push(...(await crawl(alex)))
  for (const path of ['/locks.csv', '/training.csv', '/people/reads.csv']) note(path, await alex.get(path))
  note('an unknown page', await alex.get('/nothing'))
  note('an unknown record', await alex.get('/locks/999999'))
  note('the state of an open page', await alex.get('/live'))
  note('a form', await alex.post('/display', { discreet: '0' }))
  note('a form with mistakes', await alex.post('/keys', {}))
  note('a new key', await alex.post('/keys', { name: 'One', scope: 'dtt:read', expires: '30d' }))
  note('signing out', await alex.post('/signout'))

  const guess = () => stranger.post('/signin/passkey', { answer: '{"id":"unknown"}' })
  for (let wrong = 0; wrong < 10; wrong += 1) await guess()
  const limited = await guess()
  assert.equal(limited.status, 429)
  note('too many attempts', limited)
  const { schema } = service.store.db
  for (const table of ['training_session', 'browser_session'])
    await schema.alterTable(table).renameTo(`${table}s`).execute()
  const failures = [
    await stranger.get('/api/v1/dtt/sessions?limit=3', asProgram),
    await stranger.get('/settings', { Cookie: `session=${'A'.repeat(43)}` }),
    await stranger.get('/settings', { Cookie: `session=${'A'.repeat(43)}`, Accept: '*/*' }),
  ]
  for (const table of ['training_session', 'browser_session'])
    await schema.alterTable(`${table}s`).renameTo(table).execute()
  for (const failure of failures) {
    assert.equal(failure.status, 500)
    note('a failure', failure)
  }
  return found
}

test('whatever the response, browsers neither guess its type, frame it, nor tell its address to other sites', async () => {
  assert.ok(answers.length > 70, `${answers.length} kinds of answers`)
  for (const { what, headers } of answers) {
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff', what)
    assert.equal(headers.get('Referrer-Policy'), 'no-referrer', what)
    assert.equal(headers.get('Cross-Origin-Resource-Policy'), 'same-origin', what)
    const policy = (headers.get('Content-Security-Policy') ?? '').split('; ')
    // Without a source of their own, plugins have none either.
    assert.ok(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"), what)
    assert.ok(!isPage({ headers }) || policy.includes("base-uri 'none'"), what)
    // The reference needs neither scripts nor forms.
    if (isPage({ headers }) && !what.startsWith('/docs')) {
      assert.equal(headers.get('X-Robots-Tag'), 'noindex', what)
      assert.ok(policy.includes("script-src 'self'") && policy.includes("form-action 'self'"), what)
    }
    for (const name of ['Server', 'X-Powered-By', 'Access-Control-Allow-Origin'])
      assert.equal(headers.get(name), null, what)
  }
  const broken = await exchange(service.service.port, 'GET / HTTP/9.9\r\n\r\n')
  assert.equal(broken.status, 400)
  assert.equal(header(broken, 'X-Content-Type-Options'), 'nosniff')
  assert.match(header(broken, 'Content-Security-Policy') ?? '', /frame-ancestors 'none'/)
})

test('every answer with a body says what it is, texts with their encoding', () => {
  for (const { what, headers, text } of answers) {
    const type = headers.get('Content-Type') ?? ''
    if (text === '') continue
    assert.match(type, /^[a-z]+\/[a-z0-9.+-]+/, what)
    if (/^text\/|[+/]xml|json;/.test(type)) assert.match(type, /; charset=utf-8$/, what)
    if (type.startsWith('application/json')) assert.doesNotThrow(() => void JSON.parse(text), what)
    else assert.equal(isPage({ headers }), /^\s*<!doctype html>/i.test(text), what)
  }
})

test('no browser or proxy stores an answer, except assets and the reference', () => {
  for (const { what, headers } of answers) {
    const cache = headers.get('Cache-Control') ?? ''
    const isPublic = /^\/(assets|app\.webmanifest|docs|openapi\.json|client\.)/.test(what)
    if (isPublic) assert.match(cache, /^(no-store|no-cache|public, max-age=31536000, immutable)$/, what)
    else assert.equal(cache, 'no-store', what)
  }
})

test('every cookie is for this host alone, and unreadable for scripts', () => {
  let cookies = 0
  for (const { what, headers } of answers) {
    for (const cookie of headers.getSetCookie()) {
      cookies += 1
      assert.match(cookie, /^[\w-]+=[^;]*; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/, what)
    }
  }
  assert.ok(cookies > 3)
})

test('every page of somebody who is signed in can sign out', () => {
  // The page to keep is a file.
  const shown = answers.filter(answer => isPage(answer) && !answer.headers.has('Content-Disposition'))
  const pages = shown.filter(answer => /^\/(?!docs)\S*$/.test(answer.what))
  assert.ok(pages.length > 20, `${pages.length} pages`)
  for (const { what, text } of pages) assert.match(text, /<form method="post" action="\/signout">/, what)
})

test('no address returns a file of the program or lists a folder', async () => {
  const alex = await visitorAs(service.url, 'alex')
  for (const path of [
    '/.git/config',
    '/.git/HEAD',
    '/.env',
    '/package.json',
    '/src/cli.ts',
    '/data/lockstep.db',
    '/assets',
    '/assets/',
    '/assets/..%2fassets.ts',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/assets/%2e%2e%2fassets.ts',
    '/assets/webauthn-get.d.ts',
    '/assets/__proto__',
    '/assets/constructor',
    '/docs/..%2f..%2fpackage.json',
    '/client.ts',
  ]) {
    const { status, text } = await alex.get(path, { Accept: '*/*' })
    assert.equal(`${status} ${JSON.parse(text).code}`, '404 no_route', path)
  }
})

test('a page answers to no method but GET, HEAD and that of its forms: others get 405, also where its path has a parameter', async () => {
  for (const method of METHODS.filter(method => !['GET', 'HEAD', 'POST', 'OPTIONS', 'CONNECT'].includes(method))) {
    for (const path of ['/', '/keys', '/settings', '/signin', '/locks/1', '/assets/dashboard.css', ...OUTSIDE_API]) {
      const lines = [`${method} ${path} HTTP/1.1`, 'Host: a', 'Sec-Fetch-Site: same-origin', '', '']
      const answer = await exchange(service.service.port, lines.join('\r\n'))
      const { code } = JSON.parse(answer.body) as { code: string }
      assert.equal(`${answer.status} ${code}`, '405 method_not_allowed', `${method} ${path}`)
      assert.match(header(answer, 'Allow') ?? '', /^GET, HEAD(, POST)?$/, `${method} ${path}`)
    }
  }
})

test('with https at the public address every response lets browsers use nothing else for a year, unless a setting is off', async () => {
  const https = { LOCKSTEP_PUBLIC_URL: 'https://history.example' }
  const paths = ['/', '/signin', '/nothing', '/api/v1/me', '/api/v1/nothing', ...OUTSIDE_API]
  for (const [settings, expected] of [
    [https, 'max-age=31536000'],
    [{ ...https, LOCKSTEP_HSTS: 'off' }, null],
    [{ LOCKSTEP_PUBLIC_URL: 'http://history.example' }, null],
  ] as const) {
    await using service = await startService([], { ...settings, LOCKSTEP_ADDRESS_PAGE_LIMIT: '20' })
    const ask = async (path: string) =>
      (await fetch(service.url + path, { redirect: 'manual', headers: { Accept: 'text/html' } })).headers
    for (const path of paths) assert.equal((await ask(path)).get('Strict-Transport-Security'), expected, path)
    // Also the page of a limit.
    for (let count = 0; count < 20; count += 1) await ask('/signin')
    const limited = await ask('/signin')
    assert.ok(limited.has('Retry-After'))
    assert.equal(limited.get('Strict-Transport-Security'), expected)
  }
})
