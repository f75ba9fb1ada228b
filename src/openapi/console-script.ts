import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'

/** A program of its own: writes the script of the console, which the package serves and does not export. */
const app = fastify()
await app.register(scalar, { routePrefix: '/docs', configuration: { url: 'openapi.json' } })
const { rawPayload } = await app.inject('/docs/js/scalar.js')
process.stdout.write(rawPayload)
