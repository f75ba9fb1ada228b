import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The reference of the API as a page: a document, and the script it loads from docs/scalar.js. */
export interface Reference {
  readonly page: string
  readonly script: Uint8Array
  /** What the page may do: run its own scripts and talk to this service, and nothing else. */
  readonly policy: string
}

/**
 * Makes the reference. The package has its script only as a string in a module that takes 0.8 s and some 50 MB to load, so
 * a process of its own loads it on the first request. The event loop is not blocked, and the memory is freed when the
 * process exits; a worker thread would keep 40 MB.
 */
export async function makeReference(): Promise<Reference> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], {
    encoding: 'buffer',
    maxBuffer: MAX_SCRIPT_BYTES,
  })
  return { page, script: stdout, policy }
}

const PROGRAM = fileURLToPath(new URL('./reference-script.ts', import.meta.url))
const MAX_SCRIPT_BYTES = 64 * 1024 * 1024

const configuration = {
  // Relative to the page, so that it also works behind a proxy that adds a path.
  url: 'openapi.json',
  // Everything that would send requests to other hosts is off.
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  // A token that somebody enters is not stored.
  persistAuth: false,
  authentication: { preferredSecurityScheme: 'token' },
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  documentDownloadType: 'direct',
  defaultOpenAllTags: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
}

// Without this setting the script tries to compile a function, which the policy forbids and browsers report.
const before = 'globalThis.__zod_globalConfig = { jitless: true }'
const start = `Scalar.createApiReference('#app', ${JSON.stringify(configuration)})`

// Without the icon, browsers request one that does not exist.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lockstep API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="app"></div>
<script>${before}</script>
<script src="docs/scalar.js"></script>
<script>${start}</script>
</body>
</html>
`

const policy = [
  "default-src 'none'",
  `script-src 'self' ${[before, start].map(script => `'sha256-${hash('sha256', script, 'base64')}'`).join(' ')}`,
  // The script writes its styles into the page, as elements and as attributes; a hash cannot allow the latter.
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
