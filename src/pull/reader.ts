import { rowsOf } from './identity.ts'
import type { SourceList } from './lists.ts'
import { isObject, rowOf, type SourceData, type SourceRow } from './rows.ts'
import { type QueryValues, type Source, SourceError, type SourceResponse, SourceUnavailableError } from './source.ts'
import type { Capabilities } from './state.ts'
import type { Position, SourcePage } from './walk.ts'

/** The source has no such list. */
export class MissingListError extends Error {
  override readonly name = 'MissingListError'
}

/** Reads lists and records, and finds out which parameters the source takes. */
export class SourceReader {
  readonly #source: Source
  readonly #owner: number | undefined
  capabilities: Capabilities

  /** `owner`: whose rows alone are asked for, where the source can tell them apart. */
  constructor(source: Source, capabilities: Capabilities, owner: number | undefined) {
    this.#source = source
    this.capabilities = capabilities
    this.#owner = owner
  }

  /**
   * A page of a list; with `owner`, of the rows of somebody else, for which hasListOf must be true. Throws MissingListError
   * when the source has no such list, else as Source.get.
   */
  async readPage(list: SourceList, position: Position, owner?: number): Promise<SourcePage> {
    if (owner !== undefined) {
      return this.#pageOf(list, await this.#source.get(list.path, { limit: PAGE_SIZE, ...position, ownerId: owner }))
    }
    if ('offset' in position && position.offset === 0) return this.#readFirstPage(list)
    const response = await this.#source.get(list.path, { ...this.#query(list, this.#known(list)), ...position })
    return this.#pageOf(list, response)
  }

  /** Whether the source lists the rows of one owner when it is asked to. */
  async hasListOf(list: SourceList, owner: number): Promise<boolean> {
    const { data } = await this.#source.get(list.path, { limit: 1, offset: 0, ownerId: owner })
    return (rowsOf(data) ?? []).every(row => isObject(row) && row['ownerId'] === owner) && data !== undefined
  }

  /** A record by its id: its data, or undefined when the source has none. */
  async readRecord({ path, include }: SourceList, id: number): Promise<SourceData | undefined> {
    const query = include !== undefined && this.#includes(path) ? { include: include.name } : {}
    const { status, data } = await this.#source.get(`${path}/${id}`, query)
    if (status === 404) return undefined
    if (isObject(data)) return data
    throw new SourceUnavailableError(`${this.#source.address} answers ${path}/${id} with status ${status}`)
  }

  /** As readRecord, but a source that does not answer for this one record ends nothing. */
  async tryRecord(list: SourceList, id: number): Promise<SourceData | 'unanswered' | undefined> {
    try {
      return await this.readRecord(list, id)
    } catch (error) {
      if (error instanceof SourceUnavailableError) return 'unanswered'
      throw error
    }
  }

  /** Whether rows of the list lack fields that their records have; undefined while that is not known. */
  isPartial(list: SourceList): boolean | undefined {
    if (list.isSummary === true) return true
    const { partialKinds, completeKinds } = this.capabilities
    if (partialKinds?.includes(list.kind) === true) return true
    return completeKinds?.includes(list.kind) === true ? false : undefined
  }

  /** Finds out whether rows of a list lack fields, by a first and a last row. */
  async samplePartial(list: SourceList, rows: readonly SourceRow[]): Promise<boolean> {
    if (rows.length === 0) return false
    let isPartial = false
    for (const row of new Set([rows.at(0), rows.at(-1)])) {
      if (row?.id === undefined || isPartial) continue
      const record = await this.tryRecord(list, row.id)
      // Another page will tell.
      if (record === 'unanswered') return false
      isPartial = record !== undefined && hasMore(record, row.data)
    }
    const { partialKinds = [], completeKinds = [] } = this.capabilities
    this.capabilities = isPartial
      ? { ...this.capabilities, partialKinds: [...partialKinds, list.kind] }
      : { ...this.capabilities, completeKinds: [...completeKinds, list.kind] }
    return isPartial
  }

  /** Whether the source tells of each record what is beside it, null included. */
  tells(list: SourceList): boolean {
    return this.#includes(list.path)
  }

  /** Whether the source tells whose rows it shows, so that it can be asked for those of one owner. */
  get takesOwner(): boolean {
    return this.capabilities.parameters?.ownerId === true
  }

  get hasCursors(): boolean {
    return this.capabilities.parameters?.cursor === true
  }

  /** The first page, with as many parameters as the source takes. */
  async #readFirstPage(list: SourceList): Promise<SourcePage> {
    const attempts = [...this.#attempts(list)]
    for (const asked of attempts) {
      const response = await this.#source.get(list.path, this.#query(list, asked))
      if (REFUSED.has(response.status)) continue
      if (response.status === 404) throw new MissingListError(`the source has no ${list.title}`)
      const page = this.#pageOf(list, response)
      this.#remember(list, asked, page)
      return page
    }
    // What was taken before is refused now: the source has changed.
    const { parameters, include, ...rest } = this.capabilities
    if (parameters !== undefined || include !== undefined) {
      this.capabilities = rest
      if (attempts.length < MAX_ATTEMPTS) return this.#readFirstPage(list)
    }
    throw new SourceError(`${this.#source.address} refuses to list ${list.title} by limit and offset`)
  }

  /** The ways to ask for a list, the one that asks most first. */
  *#attempts({ path, include }: SourceList): Generator<Asked> {
    const { parameters = {}, include: included = {} } = this.capabilities
    const choices = (known: boolean | undefined) => (known === undefined ? [true, false] : [known])
    for (const cursor of choices(parameters.cursor)) {
      for (const ownerId of this.#owner === undefined ? [false] : choices(parameters.ownerId)) {
        for (const asksMore of include === undefined ? [false] : choices(included[path])) {
          yield { cursor, ownerId, include: asksMore }
        }
      }
    }
  }

  #known({ path }: SourceList): Asked {
    return {
      cursor: this.hasCursors,
      ownerId: this.#owner !== undefined && this.takesOwner,
      include: this.#includes(path),
    }
  }

  #query({ include }: SourceList, asked: Asked): QueryValues {
    return {
      limit: PAGE_SIZE,
      ...(asked.cursor ? { cursor: '' } : { offset: 0 }),
      ...(asked.ownerId && this.#owner !== undefined ? { ownerId: this.#owner } : {}),
      ...(asked.include && include !== undefined ? { include: include.name } : {}),
    }
  }

  #pageOf(list: SourceList, { status, data }: SourceResponse): SourcePage {
    const page = toPage(data)
    if (page === undefined)
      throw new SourceError(`${this.#source.address} answers ${list.path} with no list (${status})`)
    return page
  }

  #remember({ path, include }: SourceList, asked: Asked, page: SourcePage) {
    // A source that ignores what it does not know answers without a cursor.
    const cursor = asked.cursor && page.nextCursor !== undefined
    this.capabilities = {
      ...this.capabilities,
      parameters: {
        ...this.capabilities.parameters,
        cursor,
        ...(this.#owner === undefined ? {} : { ownerId: asked.ownerId }),
      },
      ...(include === undefined
        ? {}
        : { include: { ...this.capabilities.include, [path]: asked.include && tellsAll(page, include.field) } }),
    }
  }

  #includes(path: string): boolean {
    return this.capabilities.include?.[path] === true
  }
}

interface Asked {
  readonly cursor: boolean
  readonly ownerId: boolean
  readonly include: boolean
}

export const PAGE_SIZE = 100
const MAX_ATTEMPTS = 8
/** How servers refuse parameters that they do not know. */
const REFUSED: ReadonlySet<number> = new Set([400, 422])

/** A page of a list as the source sends it; undefined where it is none. */
export function toPage(data: unknown): SourcePage | undefined {
  const rows = rowsOf(data)
  if (rows === undefined) return undefined
  const pagination = isObject(data) && isObject(data['pagination']) ? data['pagination'] : {}
  const { limit, nextCursor } = pagination
  return {
    rows: rows.map(rowOf),
    limit: typeof limit === 'number' && limit >= 1 && limit < PAGE_SIZE ? limit : PAGE_SIZE,
    nextCursor: typeof nextCursor === 'string' || nextCursor === null ? nextCursor : undefined,
  }
}

/** Whether each row has the field that was asked for: a source may ignore what it does not know. */
function tellsAll({ rows }: SourcePage, field: string): boolean {
  return rows.every(({ data }) => field in data)
}

/** Whether a record has fields that its row in a list lacks, or its items do. */
function hasMore(record: SourceData, row: SourceData): boolean {
  return Object.entries(record).some(([name, value]) => {
    const shown = row[name]
    if (shown === undefined) return true
    if (!Array.isArray(value) || !Array.isArray(shown)) return false
    const item: unknown = value[0]
    const shownItem: unknown = shown[0]
    return isObject(item) && (!isObject(shownItem) || hasMore(item, shownItem))
  })
}
