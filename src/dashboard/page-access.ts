import {
  type Access,
  type AccessHolder,
  accessTo,
  areaOf,
  NO_ACCESS,
  type OwnerAccess,
  readableAreas,
  accessToOwner,
} from '../accounts/access.ts'
import type { Area } from '../contract/areas.ts'
import type { RecordName } from '../store/tables.ts'

/** What a page may read. It notes whose records the page reads, for the log of reads. */
export class PageAccess {
  readonly #holder: AccessHolder
  readonly #subject: number
  readonly #owners: Readonly<Record<Area, Set<number>>> = { lkbx: new Set(), dtt: new Set() }

  constructor(holder: AccessHolder, subject: number) {
    this.#holder = holder
    this.#subject = subject
  }

  /** The sessions of an account, of the subject if it is not named; none where the viewer may not read the area. */
  sessions(area: Area, owner = this.#subject): OwnerAccess {
    if (!readableAreas(this.#holder, owner).includes(area)) return NO_ACCESS
    this.note(area, owner)
    return accessToOwner(this.#holder, area, owner)
  }

  /** The templates of the subject; none where the viewer may not read the area. */
  templates(table: 'lock_template' | 'training_template'): Access {
    return { owners: [this.sessions(areaOf(table)).owner] }
  }

  /** The rows of all accounts that the viewer may read. The page must call `note` for those that it shows. */
  ofAll(table: RecordName): Access {
    return accessTo(this.#holder, table)
  }

  /** Notes that records of an account are shown. */
  note(area: Area, owner: number) {
    this.#owners[area].add(owner)
  }

  /** The areas and owners that were noted. */
  *noted(): Generator<readonly [Area, number]> {
    for (const owner of this.#owners.lkbx) yield ['lkbx', owner]
    for (const owner of this.#owners.dtt) yield ['dtt', owner]
  }
}
