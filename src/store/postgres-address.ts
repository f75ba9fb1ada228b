import { StoreError } from './store.ts'

/** Parses `postgres://user@host:port/database`. Throws StoreError. */
export function parseAddress(address: string): URL {
  const url = URL.parse(address)
  if (url === null || url.hostname.includes(',') || url.searchParams.has('target_session_attrs')) {
    throw new StoreError('the database must be named as postgres://user@host:port/database, with one host')
  }
  return url
}
