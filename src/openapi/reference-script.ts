import { parentPort } from 'node:worker_threads'
import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'

/** The program of a worker thread: posts the script of the reference, which the package serves and does not export. */
const app = fastify()
await app.register(scalar, { routePrefix: '/docs', configuration: { url: 'openapi.json' } })
const { rawPayload } = await app.inject('/docs/js/scalar.js')
const script = new Uint8Array(rawPayload)
parentPort?.postMessage(script, [script.buffer])
