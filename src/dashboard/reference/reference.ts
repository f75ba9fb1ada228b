import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { JSON_TYPE } from '../../contract/responses.ts'
import { EXAMPLE_ADDRESS, openapi } from '../../openapi/document.ts'
import { Asset, asset, sendAsset, sendPage } from '../sending.ts'
import { readDisplay } from '../visit.ts'
import type { Html } from '../html.ts'
import { siteOriginOf, parseCookies } from '../site.ts'
import { consolePage } from './console.ts'
import { guidePage, type ReferenceContext, resourcePage, slugOf } from './reference-pages.ts'

/** The OpenAPI document, and the reference made from it: pages to read, and a console. All without signing in. */
export function registerReference(app: FastifyInstance, config: Config) {
  const api = openapi(config.publicUrl)
  const file = new Asset(JSON_TYPE, JSON.stringify(api))
  app.get('/openapi.json', (_, reply) => sendAsset(reply, file))

  app.get('/docs/styles.css', async (request, reply) => sendAsset(reply, asset('reference.css'), versionIn(request)))
  app.get('/docs/console.js', async (request, reply) => sendAsset(reply, asset('console.js'), versionIn(request)))

  const contextOf = (request: FastifyRequest): ReferenceContext => {
    const { baseUrl } = siteOriginOf(request.context, config)
    const description = api.info.description.replaceAll(EXAMPLE_ADDRESS, baseUrl)
    return {
      api: { ...api, info: { ...api.info, description } },
      display: readDisplay(parseCookies(request.headers.cookie)),
      baseUrl,
      styles: `docs/styles.css?v=${asset('reference.css').version}`,
      icon: ICON,
      hasDashboard: config.dashboard,
    }
  }
  app.get('/docs', async (request, reply) => sendReference(reply, guidePage(contextOf(request))))
  for (const { name } of api.tags) {
    app.get(`/docs/${slugOf(name)}`, async (request, reply) => {
      const context = contextOf(request)
      return sendReference(reply, resourcePage(context, name))
    })
  }
  app.get('/docs/console', async (request, reply) => {
    const script = `docs/console.js?v=${asset('console.js').version}`
    return sendReference(reply, consolePage(contextOf(request), script), CONSOLE_POLICY)
  })
}

function versionIn({ context }: FastifyRequest): string | null {
  return new URLSearchParams(context.target.query).get('v')
}

function sendReference(reply: FastifyReply, page: Html, policy = POLICY) {
  reply.headers({ 'X-Robots-Tag': 'noindex', 'Content-Security-Policy': policy })
  return sendPage(reply, page.toString())
}

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** That of the console, which also has a script, and sends requests to this service. */
const CONSOLE_POLICY = `${POLICY}; script-src 'self'; connect-src 'self'`

const ICON = `data:image/svg+xml,${encodeURIComponent(asset('favicon.svg').body.toString())}`
