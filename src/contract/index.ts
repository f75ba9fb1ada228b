import type { Arguments, Data, Endpoint, ListEndpoint } from './endpoint.ts'
import { devices } from './devices.ts'
import { lockSessions } from './lock-sessions.ts'
import { lockTemplates } from './lock-templates.ts'
import { people } from './people.ts'
import { sharing } from './sharing.ts'
import { statistics } from './statistics.ts'
import { status } from './status.ts'
import { trainingSessions } from './training-sessions.ts'
import { trainingTemplates } from './training-templates.ts'

/** The whole API, by operation name, in the order of the reference. */
export const api = {
  ...lockTemplates,
  ...lockSessions,
  ...trainingTemplates,
  ...trainingSessions,
  ...devices,
  ...people,
  ...sharing,
  ...status,
  ...statistics,
}

export type Api = typeof api

/** What a caller of each path passes and receives; `item` is a record of a list. */
export type Endpoints = {
  [Name in keyof Api as Api[Name]['path']]: {
    params: Arguments<Api[Name]>
    data: Data<Api[Name]>
    item: Item<Api[Name]>
  }
}

type Item<E> = E extends ListEndpoint<string, infer Schema> ? Data<Endpoint<string, {}, Schema>> : never
