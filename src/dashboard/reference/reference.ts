import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { JSON_TYPE } from '../../contract/responses.ts'
import { consolePage, loadConsoleScript } from '../../openapi/console.ts'
import { EXAMPLE_ADDRESS, openapi } from '../../openapi/document.ts'
import { Asset, asset, sendAsset, memoizeAsync } from '../assets.ts'
import { parseCookies } from '../cookies.ts'
import { type Display, readDisplay } from '../layout/document.ts'
import { sendPage } from '../encoding.ts'
import type { Html } from '../html.ts'
import { siteOriginOf } from '../origin.ts'
import { guidePage, type ReferenceContext, resourcePage, resourcesOfSchemas, slugOf } from './pages.ts'

/** The OpenAPI document, and the reference made from it: pages to read, and a console. All without signing in. */
export function registerReference(app: FastifyInstance, config: Config) {
  const api = openapi(config.publicUrl)
  const schemaResources = resourcesOfSchemas(api)
  const file = memoizeAsync(async () => new Asset(JSON_TYPE, JSON.stringify(api)))
  app.get('/openapi.json', async (_, reply) => sendAsset(reply, await file()))

  const styles = memoizeAsync(
    async () => new Asset('text/css; charset=utf-8', Buffer.concat(STYLES.map(name => asset(name).body))),
  )
  app.get('/docs/styles.css', async (request, reply) =>
    sendAsset(reply, await styles(), new URLSearchParams(request.context.target.query).get('v')),
  )

  const contextOf = async (request: FastifyRequest): Promise<ReferenceContext> => {
    const { baseUrl } = siteOriginOf(request.context, config)
    const description = api.info.description.replaceAll(EXAMPLE_ADDRESS, baseUrl)
    return {
      api: { ...api, info: { ...api.info, description } },
      schemaResources,
      display: displayOf(request),
      baseUrl,
      styles: `docs/styles.css?v=${(await styles()).version}`,
      icon: ICON,
      hasDashboard: config.dashboard,
    }
  }
  app.get('/docs', async (request, reply) => sendReference(reply, guidePage(await contextOf(request))))
  for (const { name } of api.tags) {
    app.get(`/docs/${slugOf(name)}`, async (request, reply) => {
      const context = await contextOf(request)
      return sendReference(reply, resourcePage(context, name))
    })
  }
  const documents = new Map<string, Asset>()
  const documentAt = async (request: FastifyRequest) => {
    const { api: shown, baseUrl } = await contextOf(request)
    if (documents.size >= MAX_DOCUMENTS) documents.clear()
    return documents.getOrInsertComputed(baseUrl, () => new Asset(JSON_TYPE, JSON.stringify(shown)))
  }
  // The document of the console. Its commands have the address at which the console is open.
  app.get('/docs/openapi.json', async (request, reply) => sendAsset(reply, await documentAt(request)))
  registerConsole(app)
}

/** A service is known by few addresses, and documents are large. */
const MAX_DOCUMENTS = 4

function registerConsole(app: FastifyInstance) {
  const script = memoizeAsync(async () => new Asset('text/javascript; charset=utf-8', await loadConsoleScript()))
  app.get('/docs/scalar.js', async (_, reply) => sendAsset(reply, await script()))
  app.get('/docs/console', async (request, reply) => {
    const { html, policy } = consolePage(displayOf(request).theme)
    return sendPage(reply.header('Content-Security-Policy', policy), html)
  })
}

function displayOf({ headers }: FastifyRequest): Display {
  return readDisplay(parseCookies(headers.cookie))
}

function sendReference(reply: FastifyReply, page: Html) {
  return sendPage(reply.headers(HEADERS), page.toString())
}

const HEADERS = {
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy': [
    "default-src 'none'",
    "style-src 'self'",
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
}

/** Style sheets of the dashboard, in the order of their layers. They are served as one file, because the dashboard, which serves them, may be off. */
const STYLES = ['base.css', 'components.css', 'reference.css'] as const

const ICON = `data:image/svg+xml,${encodeURIComponent(asset('favicon.svg').body.toString())}`
