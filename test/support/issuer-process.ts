import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { IssuerOptions } from './issuer.ts'

/**
 * An OpenID Connect issuer on a free port, which signs in everybody under the name that they enter. Prints its address. The argument
 * is JSON of `IssuerOptions`.
 */
const { path = '', client = {} } = JSON.parse(process.argv[2] ?? '{}') as IssuerOptions

const server = createServer()
server.listen(0, '127.0.0.1', () => {
  // It listens on TCP.
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}${path}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'lockstep',
        client_secret: 'the secret of the client',
        redirect_uris: ['http://localhost/signin/oidc/callback'],
        ...client,
      },
    ],
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'HS256'] },
    cookies: { keys: ['a key'] },
  })
  // The service has its port only once it knows the issuer.
  Object.assign(provider.Client.prototype, { redirectUriAllowed: () => true })
  const handle = provider.callback()
  server.on('request', (request, response) => {
    // As the middleware of a path does.
    const { url = '' } = request
    Object.assign(request, { originalUrl: url, url: url.slice(path.replace(/\/$/, '').length) })
    // Other issuers let a client send its secret in one way only.
    if ('token_endpoint_auth_method' in client && request.headers.authorization !== undefined)
      request.headers.authorization = `Basic ${btoa('lockstep:wrong')}`
    handle(request, response)
  })
  process.stdout.write(`${issuer}\n`)
})
