import { revokeKey } from '../../src/accounts/api-keys.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { account, trainingSession, world } from './records.ts'
import type { TestService } from './service.ts'

/** Requests as bytes, and the accounts and tokens they are made with. */

/** Part of everything that clients of these tests send. No response and no line of the log may contain it. */
export const MARK = 'Xq7Mark'

/** Records for the table: Ann with a session, Ben who reads hers, Cas a stranger, and Flo without a subscription. */
export const cast: readonly object[] = [...world, account(4, 'flo'), trainingSession(5, 1), trainingSession(6, 3)]

/** Settings under which no limit interferes. */
export const tableSettings = { LOCKSTEP_RATE_LIMIT: '1000000', LOCKSTEP_FAILURE_LIMIT: '0', LOCKSTEP_OVERLOAD_LAG: '0' }

/** Paths of every kind that are no part of the API. */
export const OUTSIDE_API = [
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/devices',
  '/assets/dashboard.css',
  '/client.js',
]

export interface Tokens {
  readonly ann: string
  readonly lkbxOnly: string
  readonly free: string
  readonly revoked: string
  readonly expired: string
  readonly unknown: string
}

/** A token of every sort. Create it before any of them is used. */
export async function makeTokens(service: TestService): Promise<Tokens> {
  const { db } = service.store
  const revoked = await service.token('ann', { name: 'revoked' })
  const expired = await service.token('ann', { name: 'expired' })
  for (const { id, name } of await db.selectFrom('token').select(['id', 'name']).execute()) {
    if (name === 'revoked') await revokeKey(service.store, { id }, Date.now())
  }
  await db.updateTable('token').set({ expires_at: 1 }).where('name', '=', 'expired').execute()
  const free = await service.token('flo')
  await db.updateTable('account').set({ subscription_tier: null }).where('username', '=', 'flo').execute()
  return {
    ann: await service.token('ann'),
    lkbxOnly: await service.token('ann', { scopes: ['lkbx:read'] }),
    free,
    revoked,
    expired,
    unknown: mintKey(),
  }
}

/** A request line, a host, headers that every client has, and more. */
export function request(method: string, target: string, ...headers: readonly string[]): string {
  const sent = ['Host: a', `User-Agent: ${MARK}`, `Cookie: session=${MARK}`, `Referer: http://a/${MARK}`, ...headers]
  return `${method} ${target} HTTP/1.1\r\n${sent.join('\r\n')}\r\n\r\n`
}

/** Lines that are a complete request. */
export function lines(...all: readonly string[]): string {
  return `${all.join('\r\n')}\r\n\r\n`
}

export const bearer = (token: string) => `Authorization: Bearer ${token}`
