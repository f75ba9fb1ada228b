import type { Store } from '../store/index.ts'
import { rowsOf } from './identity.ts'
import { deviceLists, type SourceList, trainingSessions, trainingTemplates } from './lists.ts'
import type { SourceReader } from './reader.ts'
import { isObject } from '../archive/values.ts'
import { idOf, type SourceData, type SourceRow } from './rows.ts'
import type { Source } from './source.ts'

/** Finds the owners of records. Training sessions have no owner field. */
export class Ownership {
  readonly #store: Store
  readonly #source: Source
  readonly #reader: SourceReader
  readonly #me: number
  readonly #devices = new Map<number, number>()
  readonly #programs = new Map<number, number | undefined>()
  #seesOthers: boolean | undefined

  constructor(store: Store, source: Source, reader: SourceReader, me: number) {
    this.#store = store
    this.#source = source
    this.#reader = reader
    this.#me = me
  }

  /** Remembers the owners of the rows of a list. */
  addRows(list: SourceList, rows: readonly SourceRow[]) {
    for (const { id, data } of rows) {
      const owner = idOf(data['ownerId'])
      if (id === undefined || owner === undefined) continue
      if (owner !== this.#me) this.#seesOthers = true
      if (deviceLists.includes(list)) this.#devices.set(id, owner)
      if (list === trainingTemplates) this.#programs.set(id, owner)
    }
  }

  /** The owner of a record; undefined if unknown. */
  async ownerOf(list: SourceList, data: SourceData): Promise<number | 'unanswered' | undefined> {
    const owner = idOf(data['ownerId'])
    if (owner !== undefined || list !== trainingSessions) return owner
    const device = idOf(data['trainer_id'])
    const ofDevice = device === undefined ? undefined : this.#devices.get(device)
    if (ofDevice !== undefined) return ofDevice
    const program = idOf(data['settings_id'])
    const ofProgram = program === undefined ? undefined : await this.#ownerOfProgram(program)
    return ofProgram ?? ((await this.#seesOnlyOwn()) ? this.#me : undefined)
  }

  async #ownerOfProgram(id: number): Promise<number | 'unanswered' | undefined> {
    if (!this.#programs.has(id)) {
      const [stored] = await this.#store.db
        .selectFrom('training_template')
        .select('owner_id')
        .where('id', '=', id)
        .limit(1)
        .execute()
      const read = stored === undefined ? await this.#reader.tryRecord(trainingTemplates, id) : undefined
      if (read === 'unanswered') return read
      this.#programs.set(id, stored?.owner_id ?? idOf(read?.['ownerId']))
    }
    return this.#programs.get(id)
  }

  /** Whether the API key may read the records of its own account only. */
  async #seesOnlyOwn(): Promise<boolean> {
    if (this.#seesOthers === undefined) {
      const { data } = await this.#source.get('/users')
      this.#seesOthers = (rowsOf(data) ?? []).some(user => isObject(user) && user['id'] !== this.#me)
    }
    return !this.#seesOthers
  }
}
