import { type Endpoint, isListEndpoint, type ListEndpoint } from '../contract/endpoint.ts'
import { api } from '../contract/index.ts'

/** A tool: its name, the endpoint it reads, and the parameters that it sends unless the caller sends others. */
export interface Tool {
  readonly name: string
  readonly endpoint: Endpoint | ListEndpoint
  readonly defaults: object
}

/** All tools. What they take and mean follows from the contract. */
export const tools: readonly Tool[] = [
  { name: 'status', endpoint: api.getStatus, defaults: {} },
  { name: 'training_stats', endpoint: api.getTrainingStatistics, defaults: {} },
  { name: 'lock_stats', endpoint: api.getLockStatistics, defaults: {} },
  // Without an owner a list mixes in the records of those who gave access.
  { name: 'list_training_sessions', endpoint: api.listTrainingSessions, defaults: { ownerId: 'me', cursor: '' } },
  { name: 'get_training_session', endpoint: api.getTrainingSession, defaults: {} },
  { name: 'list_lock_sessions', endpoint: api.listLockSessions, defaults: { ownerId: 'me', cursor: '' } },
  { name: 'get_lock_session', endpoint: api.getLockSession, defaults: {} },
  { name: 'whoami', endpoint: api.getMe, defaults: {} },
]

export function describe({ endpoint, defaults }: Tool): string {
  const { description, resourceName } = endpoint
  const what = description ?? `One ${(resourceName ?? 'record').toLowerCase()}, by id.`
  const owner = 'ownerId' in defaults ? ' Those of the caller, unless `ownerId` names somebody else.' : ''
  const more = isListEndpoint(endpoint) ? ' While `complete` is false, send `nextCursor` as `cursor` for the rest.' : ''
  return `${what}${owner}${more}`
}

/** The JSON Schema of what a tool takes: the parameters of its path, in the words of the reference. */
export function inputSchema({ endpoint }: Tool) {
  const parameters = Object.entries(endpoint.query)
    .filter(([name, { aliasOf }]) => aliasOf === undefined && !LEFT_OUT.has(name))
    .map(([name, { schema, description }]) => [name, { ...schema, description }] as const)
  const id = { type: 'integer', minimum: 1, description: 'Id of the record.' }
  const hasId = endpoint.path.endsWith('/:id')
  const schema = {
    type: 'object' as const,
    properties: { ...(hasId ? { id } : {}), ...Object.fromEntries(parameters) },
    required: hasId ? ['id'] : [],
    additionalProperties: false,
  }
  // A schema loses only the symbols that its library adds.
  return JSON.parse(JSON.stringify(schema)) as typeof schema
}

/** Lists are walked by cursor; the others add nothing here. */
const LEFT_OUT = new Set(['offset', 'include', 'relative'])
