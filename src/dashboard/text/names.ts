import { kindLabels } from './labels.ts'
import type { Person, Viewer } from '../page.ts'

/** Names of people and records on pages. Discreet mode replaces them with neutral ones. */

export function ownName({ session, discreet }: Viewer): string {
  return discreet ? 'You' : session.username
}

/** The owner of a record that the viewer may read, by identifier. */
export function personOf({ readable, subject }: Viewer, id: number): Person {
  return readable.find(person => person.id === id) ?? subject
}

/** The name of somebody whose records the viewer may read. */
export function personName(viewer: Viewer, { id, username }: Person): string {
  if (id === viewer.session.accountId) return ownName(viewer)
  if (!viewer.discreet) return username
  const partners = viewer.readable.slice(1)
  const index = partners.findIndex(person => person.id === id)
  return partners.length < 2 ? 'Partner' : `Partner ${index + 1}`
}

const neutralNames = {
  program: 'Program',
  training: 'Session',
  lock: 'Lock',
  lockTemplate: 'Template',
  key: 'Key',
  passkey: 'Passkey',
} as const

export function recordName(
  { discreet }: Pick<Viewer, 'discreet'>,
  kind: keyof typeof neutralNames,
  { id, name }: { readonly id: number; readonly name: string },
): string {
  return discreet || name === '' ? `${neutralNames[kind]} ${id}` : name
}

/** Text that somebody wrote; empty in discreet mode. */
export function freeText({ discreet }: Pick<Viewer, 'discreet'>, text: string | null | undefined): string {
  return discreet ? '' : (text ?? '')
}

/** The name of a kind of segment. Unknown kinds are shown as they are. */
export function kindName({ discreet }: Pick<Viewer, 'discreet'>, kind: string): string {
  const known = Object.keys(kindLabels).indexOf(kind)
  if (discreet) return known === -1 ? 'Other type' : `Type ${String.fromCodePoint(0x41 + known)}`
  return kindLabels[kind] ?? (kind === '' ? 'Unknown kind' : kind)
}
