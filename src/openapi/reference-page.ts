import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'

/**
 * A program of its own: writes the reference to stdout, first its document, then NUL, then its script. The plugin has
 * them for a server only, so one that never listens is asked for them.
 */
const app = fastify()
await app.register(scalar, {
  routePrefix: '/docs',
  configuration: {
    pageTitle: 'Lockstep API',
    // Relative to the page, so that they also hold below a path of a proxy.
    url: 'openapi.json',
    cdn: 'docs/scalar.js',
    // Everything that would reach beyond this host.
    telemetry: false,
    withDefaultFonts: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    // A token that is typed in is gone with the page.
    persistAuth: false,
    authentication: { preferredSecurityScheme: 'token' },
    orderSchemaPropertiesBy: 'preserve',
    orderRequiredPropertiesFirst: false,
    documentDownloadType: 'direct',
    defaultOpenAllTags: true,
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  },
})
const page = await app.inject('/docs/')
const script = await app.inject('/docs/js/scalar.js')
process.stdout.write(`${page.body}\0${script.body}`)
