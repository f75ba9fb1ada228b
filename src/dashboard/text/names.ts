import { typeLabels } from './labels.ts'
import type { Person, Viewer, View, Reader } from '../page.ts'
import { type ListedProgram, namedInTables, programsOf } from '../../stats/program-queries.ts'
import { html, type Part } from '../html.ts'

/** Names of people, records and programs on pages. Discreet mode replaces them with neutral ones. */

export function ownName({ session, discreet }: Viewer): string {
  return discreet ? 'You' : session.username
}

/** The owner of a record that the viewer may read, by identifier. */
export function personOf({ readable, subject }: Viewer, id: number): Person {
  return readable.find(person => person.id === id) ?? subject
}

export function personName(viewer: Viewer, { id, username }: Person): string {
  if (id === viewer.session.accountId) return ownName(viewer)
  if (!viewer.discreet) return username
  const partners = viewer.readable.slice(1)
  const index = partners.findIndex(person => person.id === id)
  return partners.length < 2 ? 'Partner' : `Partner ${index + 1}`
}

/** `robin: `, before what is said of somebody else. */
export function ofWhom(viewer: Viewer): string {
  return viewer.subject.id === viewer.session.accountId ? '' : `${personName(viewer, viewer.subject)}: `
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

/** The name of a type of segment. Unknown types are shown as they are. */
export function typeName({ discreet }: Pick<Viewer, 'discreet'>, type: string): string {
  const known = Object.keys(typeLabels).indexOf(type)
  if (discreet) return known === -1 ? 'Other type' : `Type ${String.fromCodePoint(0x41 + known)}`
  return typeLabels[type] ?? (type === '' ? 'Unknown type' : type)
}

/** The owner of the records that a page shows, if that is not the viewer but somebody who gave them access. */
export function otherOwner(viewer: Viewer, { owner = viewer.subject.id }: View): Person | undefined {
  if (owner === viewer.session.accountId) return undefined
  return viewer.readable.find(({ id }) => id === owner)
}

export type Programs = Awaited<ReturnType<typeof readPrograms>>

/** The programs that the viewer may read, and the name of any program of a session: its number if the viewer may not read it. */
export async function readPrograms({ store, viewer, pageAccess }: Omit<Reader, 'now'>) {
  const [all, inTables] = await Promise.all([
    programsOf(store, pageAccess.ofAll('training_template')),
    namedInTables(store, pageAccess.ofAll('training_session')),
  ])
  const numbers = [...inTables.keys()].toSorted((a, b) => a - b)
  const byId = new Map(all.map(program => [program.id, program]))
  // A page names few of them, but often.
  const parsed = new Map<number, ListedProgram | undefined>()
  const find = (id: number) =>
    parsed.getOrInsertComputed(id, () => {
      const program = byId.get(id)
      if (program !== undefined) pageAccess.note('dtt', program.ownerId)
      return program?.parse()
    })
  return {
    /** The newest first. */
    all,
    find,
    nameOf(id: number): string {
      if (id === 0) return 'No program'
      const name = inTables.get(id)
      if (name !== undefined) return viewer.discreet ? `Other program ${numbers.indexOf(id) + 1}` : name
      return recordName(viewer, 'program', { id, name: find(id)?.name ?? '' })
    },
  }
}

/** The name of a program, as a link to it where the viewer may read it. */
export function programLink(programs: Programs, id: number): Part {
  const name = programs.nameOf(id)
  return programs.find(id) === undefined ? name : html`<a href="/programs/${id}">${name}</a>`
}
