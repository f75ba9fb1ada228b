import { readFileSync } from 'node:fs'
import type { OpenApi } from './types.ts'

/**
 * The OpenAPI document of a service at this address; without one, of the service that sends it. `npm run docs` generates it from the
 * contract.
 */
export function openapi(publicUrl = ''): OpenApi {
  // The generator, which the compiler checks, wrote it.
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as OpenApi
  if (publicUrl === '') return document
  const { info, servers } = document
  return {
    ...document,
    info: { ...info, description: info.description.replaceAll(EXAMPLE_ADDRESS, publicUrl) },
    servers: servers.map(server => ({ ...server, url: publicUrl })),
  }
}

const FILE = new URL('./openapi.json', import.meta.url)

/** The address in the commands of the guide, which is the description of the document. */
export const EXAMPLE_ADDRESS = 'http://127.0.0.1:5625'
