import { ApiError } from '../contract/errors.ts'
import type { GrantCache } from '../accounts/grant-cache.ts'
import { type Grant, TOKEN_FORM } from '../accounts/tokens.ts'
import type { Target } from './request.ts'
import type { Query } from './parameters.ts'

/** The token of the one Authorization header. Throws invalid_request for two headers or a token in the URL, and missing_token. */
export function readToken(authorization: readonly string[], target: Target, query: Query): string {
  const [header, second] = authorization
  if (second !== undefined) throw new ApiError('invalid_request', 'Send one Authorization header')
  if (containsToken(target, query)) {
    throw new ApiError('invalid_request', 'Send the token in the Authorization header, never in the URL')
  }
  const value = header === undefined ? undefined : BEARER.exec(header)?.[1]
  if (value === undefined) throw new ApiError('missing_token')
  return value
}

/** What the token grants now, by at most one read of the store, and none for a text without a valid checksum. Throws invalid_token, token_revoked, token_expired. */
export async function authenticate(grants: GrantCache, token: string, now: number): Promise<Grant> {
  const grant = await grants.find(token)
  if (grant === undefined) throw new ApiError('invalid_token')
  if (grant.revokedAt !== null) throw new ApiError('token_revoked')
  if (grant.expiresAt !== null && grant.expiresAt <= now) throw new ApiError('token_expired')
  return grant
}

const BEARER = /^bearer +(.+)$/i
const TOKEN_PARAMETERS = new Set(['access_token', 'api_key', 'token'])

function containsToken({ path, segments }: Target, query: Query): boolean {
  if (segments === undefined ? TOKEN_FORM.test(path) : segments.some(segment => TOKEN_FORM.test(segment))) return true
  return query.some(([name, value]) => TOKEN_PARAMETERS.has(name) || TOKEN_FORM.test(name) || TOKEN_FORM.test(value))
}
