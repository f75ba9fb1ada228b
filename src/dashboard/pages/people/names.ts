import { listReaders } from '../../../accounts/read-log-queries.ts'
import { personName } from '../../text/names.ts'
import type { Visit } from '../../page.ts'

/** The names of people on the page that lists them. */
export interface PeopleNames {
  /** A name as it is shown: in discreet mode a neutral one, the same wherever the page names this person. */
  of(username: string): string
  /** Everybody who read, except the viewer. */
  readonly readers: readonly { readonly id: number; readonly username: string }[]
}

export async function makeNames(
  { store, viewer }: Pick<Visit, 'store' | 'viewer'>,
  given: readonly { readonly username: string }[],
): Promise<PeopleNames> {
  const { accountId, username: own } = viewer.session
  const readers = (await listReaders(store, accountId)).filter(({ id }) => id !== accountId)
  const partners = new Map(viewer.readable.map(person => [person.username, personName(viewer, person)]))
  const others = [...new Set([...given, ...readers].map(({ username }) => username))]
    .filter(username => !partners.has(username) && username !== own)
    .toSorted()
  return {
    readers,
    of: username => (viewer.discreet ? (partners.get(username) ?? `Person ${others.indexOf(username) + 1}`) : username),
  }
}
