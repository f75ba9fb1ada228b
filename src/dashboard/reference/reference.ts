import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { JSON_TYPE } from '../../contract/responses.ts'
import { EXAMPLE_ADDRESS, openapi } from '../../openapi/document.ts'
import { Asset, sendAsset, sendPage } from '../sending.ts'
import { readDisplay } from '../visit.ts'
import type { Html } from '../html.ts'
import { siteOriginOf, parseCookies } from '../site.ts'
import { guidePage, type ReferenceContext, resourcePage, slugOf } from './reference-pages.ts'

/** The OpenAPI document, and the pages of the reference made from it. All without signing in. */
export function registerReference(app: FastifyInstance, config: Config) {
  const api = openapi(config.publicUrl)
  const file = new Asset(JSON_TYPE, JSON.stringify(api))
  app.get('/openapi.json', (_, reply) => sendAsset(reply, file))

  const contextOf = (request: FastifyRequest): ReferenceContext => {
    const { baseUrl } = siteOriginOf(request.context, config)
    const description = api.info.description.replaceAll(EXAMPLE_ADDRESS, baseUrl)
    return {
      api: { ...api, info: { ...api.info, description } },
      display: readDisplay(parseCookies(request.headers.cookie)),
      baseUrl,
      hasDashboard: config.dashboard,
    }
  }
  app.get('/docs', async (request, reply) => sendReference(reply, guidePage(contextOf(request))))
  for (const { name } of api.tags) {
    app.get(`/docs/${slugOf(name)}`, async (request, reply) =>
      sendReference(reply, resourcePage(contextOf(request), name)),
    )
  }
}

function sendReference(reply: FastifyReply, page: Html) {
  reply.headers({ 'X-Robots-Tag': 'noindex', 'Content-Security-Policy': POLICY })
  return sendPage(reply, page.toString())
}

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
