import type { Store } from '../store/index.ts'
import { type ListedProgram, programsOf } from '../stats/queries.ts'
import { recordName } from './names.ts'
import type { Viewer } from './page.ts'

/** The programs that the viewer may read, and the name of any program: its number if the viewer may not read it. */
export interface Programs {
  readonly all: readonly ListedProgram[]
  readonly find: (id: number) => ListedProgram | undefined
  readonly nameOf: (id: number) => string
}

export async function readPrograms(store: Store, viewer: Viewer): Promise<Programs> {
  const all = await programsOf(
    store,
    viewer.readable.map(({ id }) => id),
  )
  const byId = new Map(all.map(program => [program.id, program]))
  return {
    all,
    find: id => byId.get(id),
    nameOf: id => recordName(viewer, 'program', { id, name: byId.get(id)?.name ?? '' }),
  }
}
