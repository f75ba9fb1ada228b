import type { Static } from 'typebox'
import * as Type from 'typebox'
import { areaScopes, get, listEndpoint, scopes } from './endpoint.ts'
import { Choice, Id, Integer, nullable, OpenText, record, Text, Timestamp } from './fields.ts'
import { formatTimestamp } from './time.ts'

export const tiers = ['ultra', 'pioneer', 'founder', 'employee'] as const
export type Tier = (typeof tiers)[number]

export function isTier(text: string | null): text is Tier {
  return (tiers as readonly (string | null)[]).includes(text)
}

const user = {
  id: Id('Id of the account.'),
  username: Text('Name of the account: unique, and never all digits.'),
  accountType: Choice('Type of the account. Grants nothing here.', ['user', 'support', 'admin', 'superadmin']),
  subscriptionTier: nullable(OpenText('Subscription tier; null when there is none.', tiers)),
  league: Integer('League; 0 when unknown.'),
  rank: Integer('Rank; 0 when unknown.'),
  totalPoints: Integer('Points in total; 0 when unknown.'),
  matchPoints: Integer('Points from matches; 0 when unknown.'),
  profileImage: nullable(Text('Address or name of the profile image; null for none.')),
  profileDescription: nullable(Text('Description on the profile; null for none.')),
  profileTitle: nullable(Text('Title on the profile; null for none.')),
}

export type User = Static<typeof User>
export const User = record('A person: the caller, or somebody linked to the caller.', user)

export type Account = Static<typeof Account>
export const Account = record("The caller's own account.", {
  ...user,
  subscriptionEndsAt: nullable(Timestamp('When the tier ends; null when it does not.')),
})

/** The JSON text of an account, from that of its user and the end of its subscription (milliseconds since 1970). */
export function accountText(user: string, subscriptionEndsAt: number | null): string {
  const ends = subscriptionEndsAt === null ? 'null' : `"${formatTimestamp(subscriptionEndsAt)}"`
  return `${user.slice(0, -1)},"subscriptionEndsAt":${ends}}`
}

export const Token = record('An API key, without its secret.', {
  id: Id('Id of the key.'),
  name: Text('Name given to it.'),
  last4: Text('The last four characters of the key.'),
  scopes: Type.Array(Type.Enum([...scopes], { type: 'string' }), { description: 'What it may read.' }),
  createdAt: Timestamp('When it was created.'),
  expiresAt: nullable(Timestamp('When it stops working; null when it does not expire.')),
  lastUsedAt: nullable(Timestamp('When it was last used, to the minute; null before its first use.')),
})

export const people = {
  listUsers: listEndpoint('/api/v1/users', {
    summary: 'List people',
    description: 'The caller, and everybody who gave the caller access or received it, by id.',
    scope: areaScopes,
    item: User,
  }),
  getCurrentUser: get('/api/v1/users/me', {
    summary: 'Get the caller',
    description: 'The caller as a person. `/me` has the account and the API key in use.',
    scope: [...areaScopes, 'status:read'],
    data: User,
  }),
  getUser: get('/api/v1/users/:id', {
    summary: 'Get one person',
    scope: areaScopes,
    resourceName: 'User',
    data: User,
  }),
  getMe: get('/api/v1/me', {
    summary: 'Get the account and the API key in use',
    description: 'The account of the caller and the API key that was sent. Needs no subscription and no scope.',
    entitled: false,
    data: record('The account of the caller and the API key in use.', { account: Account, token: Token }),
  }),
}
