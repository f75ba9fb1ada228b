import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { JSON_TYPE } from '../../contract/responses.ts'
import { EXAMPLE_ADDRESS, openapi } from '../../openapi/document.ts'
import { assetOf, sendAsset, sendPage } from '../sending.ts'
import { readDisplay } from '../visit.ts'
import { siteOriginOf, parseCookies } from '../site.ts'
import { guidePage, type ReferenceContext, resourcePage, slugOf } from './reference-pages.ts'

/** The OpenAPI document, and the pages of the reference made from it. All without signing in. */
export function registerReference(app: FastifyInstance, config: Config) {
  const api = openapi(config.publicUrl)
  const file = assetOf(JSON_TYPE, JSON.stringify(api))
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
  const pages = [
    ['/docs', guidePage] as const,
    ...api.tags.map(({ name }) => {
      return [`/docs/${slugOf(name)}`, (context: ReferenceContext) => resourcePage(context, name)] as const
    }),
  ]
  for (const [path, page] of pages) {
    app.get(path, (request, reply) => {
      reply.headers({ 'X-Robots-Tag': 'noindex', 'Content-Security-Policy': POLICY })
      return sendPage(reply, page(contextOf(request)).toString())
    })
  }
}

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
