import type { Static } from 'typebox'
import * as Type from 'typebox'
import { areas } from './areas.ts'
import { areaScopes, get, listEndpoint } from './endpoint.ts'
import { Choice, Id, Integer, list, nullable, record, Text, Timestamp } from './fields.ts'
import { from, id, to } from './parameters.ts'
import { readTypes, readWays } from './reads.ts'

const access = {
  username: Text('Its name.'),
  areas: Type.Array(Type.Enum([...areas], { type: 'string' }), { description: 'Which records may be read.' }),
  recordsFrom: nullable(
    Type.String({
      description: 'The first day (UTC) of which sessions may be read; null for all.',
      format: 'date',
      examples: ['2026-02-16'],
    }),
  ),
  until: nullable(Timestamp('When it ends; null when it does not.')),
  since: nullable(Timestamp('When it was given; null when that is not known.')),
}

export type GivenAccess = Static<typeof GivenAccess>
export const GivenAccess = record("Access to the caller's records that the caller gave.", {
  accountId: nullable(
    Id(
      'Id of the other account; null until that account has read, so that it does not show whether the username exists.',
    ),
  ),
  ...access,
  lastReadAt: nullable(
    Timestamp('The start of the hour in which the other account last read; null if it has not, as far as is known.'),
  ),
})

export type ReceivedAccess = Static<typeof ReceivedAccess>
export const ReceivedAccess = record('Access that the caller received.', {
  accountId: Id('Id of the other account.'),
  ...access,
})

export const AccessLists = record('Access given and received.', {
  given: list("Who may read the caller's records.", GivenAccess),
  received: list('Whose records the caller may read.', ReceivedAccess),
})

export type Read = Static<typeof Read>
export const Read = record(
  "How often somebody read the caller's records in an hour, in one way. Where only the number of reads is known, only `id`, `hour` and `count` are not null.",
  {
    id: Id('Id of the entry.'),
    hour: Timestamp('The start of the hour.'),
    readerId: nullable(Id('Id of the account that read; null for the operator.')),
    reader: nullable(Text('Its name; `operator` for the operator, `removed account` once it is removed.')),
    via: nullable(
      Choice('How: with an API key, on a page of the dashboard, or by a command on the server.', [...readWays]),
    ),
    tokenName: nullable(Text("The name of the API key, of the caller's own keys; null for others.")),
    area: nullable(Choice('Which records.', [...areas])),
    kind: nullable(Choice('What was read: rows of a list, one record, statistics, or an export.', [...readTypes])),
    count: Integer('How often.', { minimum: 1 }),
  },
)

export const sharing = {
  getAccess: get('/api/v1/me/access', {
    summary: 'List access given and received',
    description:
      "Who may read the caller's records now, and whose records the caller may read, by id. Accounts that have not read yet come last, by name.",
    scope: areaScopes,
    data: AccessLists,
  }),
  listReads: listEndpoint('/api/v1/me/reads', {
    summary: 'List who read',
    description:
      "Who read the caller's records, and how often, by the hour: others, and the caller's own API keys. The newest hour first. Reads are added within about a minute.",
    scope: areaScopes,
    filters: { readerId: id('Only reads of this account.'), from, to },
    item: Read,
  }),
}
