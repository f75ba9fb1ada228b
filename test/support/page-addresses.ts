import { pages } from '../../src/dashboard/routes.ts'

/** The addresses of pages, made from the list that the dashboard serves, so that no test misses a new one. */

/** By path: the identifier of a record to show, whether the account has the page, or why it has not. */
type Examples = Readonly<Record<string, number | true | string>>

/** Pages that an account has only after more steps, which tests of their own take. */
const NEEDS_MORE: Examples = {
  '/live': 'is for scripts',
  '/keys/:id/regenerate': 'needs an API key',
  '/keys/:id/revoke': 'needs an API key',
  '/source/start': 'needs a source that was checked',
  '/source/key': 'needs a connected source',
  '/source/forget': 'needs a connected source',
  '/source/files/:id/undo': 'needs a file that was stored',
  '/source/locks': 'needs a connected source',
  '/source/gone': 'needs records that are gone at their source',
  '/source/typed': 'needs sessions that were typed and copied',
  '/source/upload/rejected.csv': 'needs a file that was checked',
  '/people/:id/narrow': 'needs access that was given',
  '/people/:id/end': 'needs access that was given',
  '/settings/oidc': 'needs an issuer',
  '/settings/oidc/remove': 'needs an issuer',
  '/settings/passkeys/:id/remove': 'needs a passkey',
}

/** An address of each page, files left out; with `hasRecords` of those that show records. */
export function pageAddresses(examples: Examples, { hasRecords = false } = {}): string[] {
  return pages.flatMap(({ method, path, reads, isDownload = false }) => {
    const example = examples[path] ?? examples[path.replace(/\/delete$/, '')] ?? NEEDS_MORE[path]
    if (method === 'POST' || isDownload || typeof example === 'string' || (hasRecords && reads === null)) return []
    if (path.includes(':id') && example === undefined) throw new Error(`name a record to show on ${path}`)
    return [path.replace(':id', String(example))]
  })
}

/** The address of every file that is a page of its own. */
export const fileAddresses: readonly string[] = pages
  .filter(({ path, isDownload = false }) => isDownload && !(path in NEEDS_MORE))
  .map(({ path }) => path)

/** What names the access of robin to the records of alex. */
const ROBIN = 176_416_052_036_551

/** The pages of the sample, as alex sees them. */
export const samplePages: readonly string[] = pageAddresses({
  '/year/:id': new Date().getUTCFullYear(),
  '/training/:id': 100,
  '/programs/:id': 13,
  '/locks/:id': 44,
  '/lock-templates/:id': 44,
  '/keys/:id/regenerate': 1,
  '/keys/:id/revoke': 1,
  '/people/:id/narrow': ROBIN,
  '/people/:id/end': ROBIN,
})
