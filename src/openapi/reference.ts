import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The reference of the API as a page: a document, and the one script it loads. */
export interface Reference {
  readonly page: string
  readonly script: Buffer
  /** What the page may do: run its own scripts and talk to this service, and nothing else. */
  readonly policy: string
}

/**
 * Makes the reference. That takes a fifth of a second and some 60 megabytes, so it is done when somebody first asks for
 * it, and by a process that does not hold up requests and gives the memory back.
 */
export async function makeReference(): Promise<Reference> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { encoding: 'buffer', maxBuffer: LARGEST })
  const end = stdout.indexOf(0)
  const page = finish(stdout.toString('utf8', 0, end))
  return { page, script: stdout.subarray(end + 1), policy: policyOf(page) }
}

const PROGRAM = fileURLToPath(new URL('./reference-page.ts', import.meta.url))
const LARGEST = 64 * 1024 * 1024

function finish(page: string): string {
  return page.replace('<html>', '<html lang="en">').replace('<head>', `<head>${HEAD}`)
}

// Without the icon browsers ask for one that is not there. Without the setting the script tries whether it may make
// functions of text, which the policy forbids and browsers report.
const HEAD = `
    <link rel="icon" href="data:," />
    <script>globalThis.__zod_globalConfig = { jitless: true }</script>`

function policyOf(page: string): string {
  const hashes = [...page.matchAll(INLINE_SCRIPT)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  )
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`,
    // The script writes its styles into the page, as elements and as attributes; a hash cannot allow the latter.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const INLINE_SCRIPT = /<script(?![^>]* src=)[^>]*>([^]*?)<\/script>/g
