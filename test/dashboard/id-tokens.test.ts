// engine: sqlite
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { visitor } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { sendEndlessly, startHttpServer } from '../support/http-server.ts'

/** An issuer that answers with whatever ID token it is told to. */

interface Told {
  readonly header?: object
  readonly claims?: object
  /** The signature of the first two parts; by default the right one. */
  readonly signature?: (signed: string) => string
  readonly metadata?: object
  /** What is answered at a path instead of what belongs there. */
  readonly instead?: readonly [path: string, respond: (response: ServerResponse) => unknown]
  /** What the page says. */
  readonly why?: RegExp
}

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { privateKey: foreignKey, publicKey: foreignPublic } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const publicPem = publicKey.export({ type: 'spki', format: 'pem' })

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signedBy = (key: typeof privateKey) => (text: string) =>
  sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')

function startIssuer({ metadata, instead }: Told, token: (issuer: string) => string) {
  return startHttpServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://issuer')
    const json = (value: object) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(value))
    const issuer = `http://${request.headers.host}`
    if (pathname === instead?.[0]) return instead[1](response.setHeader('Content-Type', 'application/json'))
    if (pathname === '/jwks') {
      return json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' }] })
    }
    if (pathname === '/token') {
      return json({ access_token: 'unused', token_type: 'Bearer', id_token: token(issuer) })
    }
    return json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
      ...metadata,
    })
  })
}

/** Signs in at such an issuer with a subject that is linked; returns what the callback answered, and whether there is a session. */
async function signInWith(told: Told) {
  const { header, claims, signature = signedBy(privateKey), why = /./ } = told
  let nonce = ''
  await using issuer = await startIssuer(told, iss => {
    const now = Math.floor(Date.now() / 1000)
    const usual = { iss, sub: 'somebody', aud: 'lockstep', nonce, iat: now, exp: now + 300, auth_time: now }
    const signed = `${encoded({ alg: 'ES256', kid: 'one', ...header })}.${encoded({ ...usual, ...claims })}`
    return `${signed}.${signature(signed)}`
  })
  await using service = await startService(world, {
    LOCKSTEP_OIDC_ISSUER: issuer.url,
    LOCKSTEP_OIDC_CLIENT_ID: 'lockstep',
  })
  await service.store.db
    .insertInto('linked_identity')
    .values({ account_id: 1, issuer: issuer.url, subject: 'somebody', linked_at: 0, last_used_at: null })
    .execute()
  const person = visitor(service.url)
  const out = await person.get('/signin/oidc')
  const sent = out.to === null ? undefined : new URL(out.to).searchParams
  nonce = sent?.get('nonce') ?? ''
  const query = new URLSearchParams({ code: 'code', state: sent?.get('state') ?? '', iss: issuer.url })
  const { status, text } = sent === undefined ? out : await person.get(`/signin/oidc/callback?${query}`)
  if (status !== 303) assert.match(text, why)
  return { status, hasSession: person.cookies.has('session') }
}

test('an ID token signs in only if it is signed by the issuer, for this service, this sign-in and this moment', async t => {
  assert.deepEqual(await signInWith({}), { status: 303, hasSession: true })
  const now = Math.floor(Date.now() / 1000)
  const jwk = foreignPublic.export({ format: 'jwk' })
  const cases: Readonly<Record<string, Told>> = {
    'no signature': { header: { alg: 'none' }, signature: () => '', why: /unexpected JWT &quot;alg&quot;/ },
    'an empty signature': { signature: () => '', why: /JWT signature verification failed/ },
    'the signature of another key': { signature: signedBy(foreignKey) },
    'another key in its header': { header: { jwk, kid: undefined }, signature: signedBy(foreignKey) },
    'an address of other keys in its header': {
      header: { jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/x', kid: 'other' },
      signature: signedBy(foreignKey),
    },
    'the public key as a shared secret': {
      header: { alg: 'HS256' },
      signature: text => createHmac('sha256', publicPem).update(text).digest('base64url'),
    },
    'claims changed after signing': {
      signature: text => signedBy(privateKey)(text.replace(/\..*/, `.${encoded({ sub: 'somebody else' })}`)),
    },
    'another audience': { claims: { aud: 'another client' }, why: /unexpected JWT &quot;aud&quot;/ },
    'several audiences, for another one': { claims: { aud: ['lockstep', 'another'], azp: 'another' } },
    'no audience': { claims: { aud: undefined } },
    'another issuer': { claims: { iss: 'https://id.example' }, why: /unexpected JWT &quot;iss&quot;/ },
    'another nonce': { claims: { nonce: 'A'.repeat(43) }, why: /nonce/ },
    'no nonce': { claims: { nonce: undefined } },
    'an end that has passed': { claims: { exp: now - 600 }, why: /&quot;exp&quot;/ },
    'no end': { claims: { exp: undefined } },
    'a start in the future': { claims: { nbf: now + 3600 }, why: /&quot;nbf&quot;/ },
    'a clock that is ahead': {
      claims: { nbf: now + 3600, iat: now + 3600 },
      why: /&quot;nbf&quot;/,
    },
    'no subject': { claims: { sub: undefined } },
    'a subject that is no text': { claims: { sub: 1 } },
  }
  for (const [what, answers] of Object.entries(cases)) {
    await t.test(what, async () => {
      const { status, hasSession } = await signInWith(answers)
      assert.ok(status === 403 || status === 503, `${status}`)
      assert.equal(hasSession, false)
    })
  }
})

test('an issuer whose metadata names another issuer is refused', async () => {
  assert.deepEqual(await signInWith({ metadata: { issuer: 'https://id.example' } }), { status: 503, hasSession: false })
})

test('a redirect of the issuer for a token is not followed', async () => {
  let requests = 0
  await using other = await startHttpServer((_, response) => {
    requests += 1
    response.end()
  })
  const redirect = (response: ServerResponse) => response.writeHead(307, { Location: `${other.url}/token` }).end()
  const { hasSession } = await signInWith({ instead: ['/token', redirect] })
  assert.deepEqual([hasSession, requests], [false, 0])
})

for (const path of ['/.well-known/openid-configuration', '/token']) {
  const refused = { status: 503, hasSession: false }

  test(`an issuer whose response at ${path} never ends is cut off after a megabyte, and nobody is signed in`, async () => {
    let sending = Promise.resolve(0)
    const endless = (response: ServerResponse) => void (sending = sendEndlessly(response, 64 * 1024))
    assert.deepEqual(await signInWith({ instead: [path, endless], why: /its response is too large/ }), refused)
    const sent = await sending
    // Beside what was read, what the buffers of both sockets hold.
    assert.ok(sent < 16 * 1024 * 1024, `${sent} bytes`)
  })

  test(`deeply nested JSON at ${path} is not parsed, and nobody is signed in`, async () => {
    const nested = (response: ServerResponse) => response.end('['.repeat(200_000) + ']'.repeat(200_000))
    assert.deepEqual(await signInWith({ instead: [path, nested], why: /its response is too large/ }), refused)
  })
}
