import type { Grant } from '../../src/accounts/grants.ts'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import type { RecordName } from '../../src/store/tables.ts'

/** A value that each parameter of the API accepts. */
export const right: Readonly<Record<string, string>> = {
  limit: '1',
  offset: '0',
  cursor: '',
  ownerId: '1',
  targetUserId: '1',
  from: '2026-01-01',
  to: '2026-12-31',
  passed: 'true',
  lockState: 'locked',
  include: 'owner',
  bucket: 'month',
  tz: 'Europe/Berlin',
  weekStart: 'sunday',
  type: 'training',
  programId: '1',
  readerId: '1',
  relative: 'seconds',
}

/** What an API key of an account allows, if it has a tier and nobody shares with it. */
export const grantOf = (accountId: number): Grant => ({
  keyId: 1,
  accountId,
  scopes: [],
  expiresAt: null,
  revokedAt: null,
  tier: 'ultra',
  tierEndsAt: null,
  keyName: 'test',
  via: 'token',
  shared: [],
})

/** A value that each parameter refuses. */
export const wrong: Readonly<Record<string, string>> = {
  limit: '101',
  offset: '-1',
  cursor: 'x',
  ownerId: 'x',
  targetUserId: 'x',
  from: 'x',
  to: 'x',
  passed: 'x',
  lockState: '',
  include: 'x',
  bucket: 'year',
  tz: 'europe/berlin',
  weekStart: 'x',
  type: '',
  programId: '0',
  readerId: 'x',
  relative: 'minutes',
}

/** More of them: what lenient parsers accept, and what is barely out of bounds. */
export const mistaken: Readonly<Record<string, readonly string[]>> = {
  limit: ['0', '4294967297', '', '0x10', '1e1', '%2B5', '05', '5.0', '%205', '%EF%BC%95', '%00'],
  offset: ['9007199254740992', '18446744073709551616', '', '-0', '5n'],
  ownerId: ['0', '', 'ME', 'me%20', '1_000'],
  targetUserId: ['0', 'Me'],
  passed: ['TRUE', '1', 'yes', '', 'true%20'],
  include: ['OWNER', 'owner,owner', '', 'all'],
  cursor: ['AAAA', '%20', 'MC4wLkFBQUFBQUFBQUFBQUFBQUE'],
}

/** Values for the columns that filters compare, of row `n`, in the SQL of both engines. */
export const filteredColumns: Partial<Record<RecordName, Readonly<Record<string, string>>>> = {
  training_template: { is_public: 'cast(n % 7 = 0 as int)', is_active: 'cast(n % 50 = 1 as int)' },
  lock_session: {
    lock_state: "case when n % 50 = 0 then 'locked' else 'completed' end",
    is_active: 'cast(n % 50 < 2 as int)',
    template_id: '1',
  },
  training_session: { passed: 'cast(n % 3 = 0 as int)' },
}

const pages = Object.values<Endpoint>(api).filter(endpoint => 'listOf' in endpoint)

/** What the parameters of lists accept: the values given here, and for all others the one above. */
export function listValues<Value extends string | readonly string[]>(
  given: Readonly<Record<string, Value>>,
  valueOf: (right: string) => Value,
): Readonly<Record<string, Value>> {
  const names = [...new Set(pages.flatMap(({ query }) => Object.keys(query)))]
  const others = names.filter(name => !PAGING.has(name)).map(name => [name, valueOf(right[name] ?? '')] as const)
  return { ...Object.fromEntries(others), ...given }
}

const PAGING = new Set(['limit', 'offset', 'cursor'])
