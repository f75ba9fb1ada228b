import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A console that lists operations and sends requests: a page for docs/console, which loads its script from docs/scalar.js. */
export interface ConsolePage {
  readonly html: string
  /** What the page may do: run its own scripts and talk to this service, and nothing else. */
  readonly policy: string
}

/**
 * The script of the console. The package has it only as a string in a module that takes 0.8 s and some 50 MB to load, so
 * a process of its own loads it on the first request. The event loop is not blocked, and the memory is freed when the
 * process exits; a worker thread would keep 40 MB.
 */
export async function loadConsoleScript(): Promise<Uint8Array> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], {
    encoding: 'buffer',
    maxBuffer: MAX_SCRIPT_BYTES,
  })
  return stdout
}

/** The page in a theme; `auto` is that of the browser. */
export function consolePage(theme: 'auto' | 'light' | 'dark'): ConsolePage {
  const start = `Scalar.createApiReference('#app', ${JSON.stringify({
    ...configuration,
    ...(theme === 'auto' ? {} : { forceDarkModeState: theme }),
  })})`
  return { html: page(start, theme), policy: policy([BEFORE, start]) }
}

const PROGRAM = fileURLToPath(new URL('./console-script.ts', import.meta.url))
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
  // An API key that somebody enters is not stored.
  persistAuth: false,
  authentication: { preferredSecurityScheme: 'token' },
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  documentDownloadType: 'direct',
  defaultOpenAllTags: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
}

// Without this setting the script tries to compile a function, which the policy forbids and browsers report.
const BEFORE = 'globalThis.__zod_globalConfig = { jitless: true }'

// Without the icon, browsers request one that does not exist.
const page = (start: string, theme: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme === 'auto' ? 'light dark' : theme}">
<title>Lockstep API</title>
<link rel="icon" href="data:,">
<style>
body > nav { padding: 8px 16px; font: 0.875rem/1.5 system-ui, sans-serif }
body > nav a { color: light-dark(#2f6f73, #7cc4c4) }
</style>
</head>
<body>
<nav aria-label="Back"><a href="../docs">‹ API reference</a></nav>
<div id="app"></div>
<script>${BEFORE}</script>
<script src="scalar.js"></script>
<script>${start}</script>
</body>
</html>
`

const policy = (scripts: readonly string[]) =>
  [
    "default-src 'none'",
    `script-src 'self' ${scripts.map(script => `'sha256-${hash('sha256', script, 'base64')}'`).join(' ')}`,
    // The script writes its styles into the page, as elements and as attributes; a hash cannot allow the latter.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
