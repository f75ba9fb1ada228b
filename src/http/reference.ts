import { hash } from 'node:crypto'
import fastify from 'fastify'

/** The reference of the API as a page: a document, and the one script it loads. */
export interface Reference {
  readonly page: string
  readonly script: string
  /** What the page may do: run its own two scripts and talk to this service, and nothing else. */
  readonly policy: string
}

/**
 * Builds the reference. Takes some 200 ms and several megabytes, so it is done when somebody first asks for it. The
 * plugin answers into memory: it would otherwise put routes of its own beside ours, with headers of its own.
 */
export async function buildReference(): Promise<Reference> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const app = fastify()
  try {
    await app.register(scalar, { routePrefix: '/docs', configuration })
    const { body: page } = await app.inject('/docs/')
    const { body: script } = await app.inject('/docs/js/scalar.js')
    return { page: finish(page), script, policy: policyOf(page) }
  } finally {
    await app.close()
  }
}

/** Addresses are relative to the page, so that they also hold below a path of a proxy. */
const configuration = {
  pageTitle: 'Lockstep API',
  url: 'openapi.json',
  cdn: 'docs/scalar.js',
  // All that would reach beyond this host.
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never' as const,
  // A token that is typed in is gone with the page.
  persistAuth: false,
  orderSchemaPropertiesBy: 'preserve' as const,
  orderRequiredPropertiesFirst: false,
  documentDownloadType: 'direct' as const,
  defaultHttpClient: { targetKey: 'shell' as const, clientKey: 'curl' as const },
}

function finish(page: string): string {
  return page.replace('<html>', '<html lang="en">').replace('<head>', '<head>\n    <link rel="icon" href="data:," />')
}

function policyOf(page: string): string {
  const [, script = ''] = INLINE_SCRIPT.exec(page) ?? []
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', script, 'base64')}'`,
    // The script writes its styles into the page, as elements and as attributes; a hash cannot allow the latter.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const INLINE_SCRIPT = /<script type="text\/javascript">([^]*?)<\/script>/
