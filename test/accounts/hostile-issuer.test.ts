import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { makeOidc, type OidcRequest } from '../../src/accounts/oidc.ts'
import { sendEndlessly, startHttpServer } from '../support/http-server.ts'

// engine: any

const METADATA = '/.well-known/openid-configuration'
const request: OidcRequest = {
  state: 'state',
  nonce: 'nonce',
  verifier: 'v'.repeat(43),
  startedAt: Math.floor(Date.now() / 1000),
  asksAgain: false,
}

/** An issuer that gives one path to the test, and otherwise does as it should. */
async function startIssuer(path: string, answer: (response: ServerResponse) => unknown) {
  const server = await startHttpServer((incoming, response) => {
    response.setHeader('Content-Type', 'application/json')
    if (incoming.url === path) return void answer(response)
    response.end(
      JSON.stringify({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
      }),
    )
  })
  const { url } = server
  const oidc = makeOidc({
    issuer: url,
    clientId: 'lockstep',
    clientSecret: undefined,
    auth: undefined,
    name: 'Example',
  })
  return {
    finish: () => oidc.finish(new URL(`http://localhost/callback?code=code&state=state`), request),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

for (const path of [METADATA, '/token']) {
  test(`an issuer whose response at ${path} never ends is cut off after a megabyte, and nobody is signed in`, async () => {
    let sending = Promise.resolve(0)
    await using issuer = await startIssuer(path, response => {
      sending = sendEndlessly(response, 64 * 1024)
    })
    await assert.rejects(issuer.finish(), {
      name: 'OidcError',
      message: 'the sign-in at the OIDC issuer was not completed: its response is too large (ResponseTooLargeError)',
    })
    const sent = await sending
    // Beside what was read, what the buffers of both sockets hold.
    assert.ok(sent < 16 * 1024 * 1024, `${sent} bytes`)
  })

  test(`deeply nested JSON at ${path} is not parsed, and nobody is signed in`, async () => {
    const nested = '['.repeat(200_000)
    await using issuer = await startIssuer(path, response => response.end(nested + ']'.repeat(nested.length)))
    await assert.rejects(issuer.finish(), /^OidcError: .+ too large \(ResponseTooLargeError\)$/)
  })
}
