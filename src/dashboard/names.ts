import { kindLabels } from './labels.ts'
import type { Person, Viewer } from './page.ts'

/** What people and things are called on a page. In discreet mode names give way to plain ones. */

/** The viewer. */
export function ownName({ session, discreet }: Viewer): string {
  if (discreet) return 'You'
  return session.displayName === '' ? session.username : session.displayName
}

/** The owner of a record that the viewer may read. */
export function personOf({ readable, subject }: Viewer, id: number): Person {
  return readable.find(person => person.id === id) ?? subject
}

/** Somebody whose records the viewer may read. */
export function personName(viewer: Viewer, { id, username }: Person): string {
  if (id === viewer.session.accountId) return ownName(viewer)
  if (!viewer.discreet) return username
  const partners = viewer.readable.slice(1)
  const place = partners.findIndex(person => person.id === id)
  return partners.length < 2 ? 'Partner' : `Partner ${place + 1}`
}

const things = { program: 'Program', training: 'Session', lock: 'Lock', lockTemplate: 'Template' } as const

/** A record with a name of its own. */
export function recordName(
  { discreet }: Pick<Viewer, 'discreet'>,
  thing: keyof typeof things,
  { id, name }: { readonly id: number; readonly name: string },
): string {
  return discreet || name === '' ? `${things[thing]} ${id}` : name
}

/** Text that somebody wrote; empty in discreet mode. */
export function freeText({ discreet }: Pick<Viewer, 'discreet'>, text: string | null | undefined): string {
  return discreet ? '' : (text ?? '')
}

/** A kind of segment. The set is open: one that is not known is shown as it is. */
export function kindName({ discreet }: Pick<Viewer, 'discreet'>, kind: string): string {
  const known = Object.keys(kindLabels).indexOf(kind)
  if (discreet) return known === -1 ? 'Other type' : `Type ${String.fromCodePoint(0x41 + known)}`
  return kindLabels[kind] ?? (kind === '' ? 'Unknown kind' : kind)
}
