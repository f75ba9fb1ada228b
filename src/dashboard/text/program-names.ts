import { type ListedProgram, namedInTables, programsOf } from '../../stats/program-queries.ts'
import { recordName } from './names.ts'
import { html, type Part } from '../html.ts'
import type { Reader } from '../page.ts'

/** The programs that the viewer may read, and the name of any program of a session: its number if the viewer may not read it. */
export interface Programs {
  /** The newest first. */
  readonly all: readonly { readonly id: number; readonly ownerId: number }[]
  readonly find: (id: number) => ListedProgram | undefined
  readonly nameOf: (id: number) => string
}

export async function readPrograms({ store, viewer, pageAccess }: Omit<Reader, 'now'>): Promise<Programs> {
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
    all,
    find,
    nameOf(id) {
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
