import type { SourceList } from './lists.ts'
import { isObject } from '../archive/values.ts'
import { rowsOf, sourceRow, type SourceData, type SourceRow } from './rows.ts'
import { type QueryValues, type Source, SourceError, type SourceResponse, SourceUnavailableError } from './source.ts'
import type { Capabilities } from './state.ts'
import type { Position, SourcePage } from './walk.ts'

/** The source has no such list. */
export class MissingListError extends Error {
  override readonly name = 'MissingListError'
}

/** Reads lists and records, and finds out which parameters the source accepts. */
export class SourceReader {
  readonly #source: Source
  readonly #owner: number | undefined
  /** Fields that a record lacked in this round, by kind: other records are not read by id because of them. */
  readonly #withheld = new Set<string>()
  capabilities: Capabilities

  /** With `owner`, only rows of this owner are requested, if the source accepts the parameter. */
  constructor(source: Source, capabilities: Capabilities, owner: number | undefined) {
    this.#source = source
    this.capabilities = capabilities
    this.#owner = owner
  }

  /** Reads a page of a list. Throws MissingListError if the source has no such list, and what Source.get throws. */
  async readPage(list: SourceList, position: Position): Promise<SourcePage> {
    if ('offset' in position && position.offset === 0) return this.#readFirstPage(list)
    const response = await this.#source.get(list.path, { ...this.#query(list, this.#known(list)), ...position })
    return this.#pageOf(list, response)
  }

  /** The data of a record; undefined if the source has no such record, `unanswered` if it fails for this record. */
  async tryRecord(list: SourceList, id: number): Promise<SourceData | 'unanswered' | undefined> {
    const { path, include, kind } = list
    const query = include !== undefined && this.hasIncluded(list) ? { include: include.name } : {}
    const response = await this.#source.get(`${path}/${id}`, query).catch((error: unknown) => {
      if (error instanceof SourceUnavailableError) return undefined
      throw error
    })
    if (response?.status === 404) return undefined
    const data = response?.data
    if (!isObject(data)) return 'unanswered'
    for (const field of missingIn(list, data)) if (list.mayBeEmpty.has(field)) this.#withheld.add(`${kind}.${field}`)
    return data
  }

  /** Whether rows of the list lack fields of their records; undefined if unknown. */
  isPartial(list: SourceList): boolean | undefined {
    if (list.isSummary === true) return true
    const { partialKinds, completeKinds } = this.capabilities
    if (partialKinds?.includes(list.kind) === true) return true
    return completeKinds?.includes(list.kind) === true ? false : undefined
  }

  /** Whether the record of a row may have more than the row has. */
  lacksFields(list: SourceList, row: SourceData): boolean {
    return (
      this.isPartial(list) === true || missingIn(list, row).some(field => !this.#withheld.has(`${list.kind}.${field}`))
    )
  }

  /** Finds out whether rows of a list lack fields, from the first and the last row. */
  async samplePartial(list: SourceList, rows: readonly SourceRow[]): Promise<boolean> {
    if (rows.length === 0) return false
    let isPartial = false
    for (const row of new Set([rows.at(0), rows.at(-1)])) {
      if (row?.id === undefined || isPartial) continue
      const record = await this.tryRecord(list, row.id)
      // Tried again with the next page.
      if (record === 'unanswered') return false
      isPartial = record !== undefined && hasMore(record, row.data)
    }
    const { partialKinds = [], completeKinds = [] } = this.capabilities
    this.capabilities = isPartial
      ? { ...this.capabilities, partialKinds: [...partialKinds, list.kind] }
      : { ...this.capabilities, completeKinds: [...completeKinds, list.kind] }
    return isPartial
  }

  /** Whether rows of the list have the field that `include` adds. */
  hasIncluded({ path }: SourceList): boolean {
    return this.capabilities.include?.[path] === true
  }

  get hasCursors(): boolean {
    return this.capabilities.parameters?.cursor === true
  }

  /** Reads the first page, with as many parameters as the source accepts. */
  async #readFirstPage(list: SourceList): Promise<SourcePage> {
    const attempts = [...this.#attempts(list)]
    for (const features of attempts) {
      const response = await this.#source.get(list.path, this.#query(list, features))
      if (REFUSED.has(response.status)) continue
      if (response.status === 404) throw new MissingListError(`the source has no ${list.title}`)
      const page = this.#pageOf(list, response)
      this.#remember(list, features, page)
      return page
    }
    // The source refuses what it accepted before, so everything is tried again.
    const { parameters, include, ...rest } = this.capabilities
    if (parameters !== undefined || include !== undefined) {
      this.capabilities = rest
      if (attempts.length < MAX_ATTEMPTS) return this.#readFirstPage(list)
    }
    throw new SourceError(`${this.#source.address} refuses to list ${list.title} by limit and offset`)
  }

  /** The combinations of features to try, the most complete one first. */
  *#attempts({ path, include }: SourceList): Generator<ListFeatures> {
    const { parameters = {}, include: included = {} } = this.capabilities
    const choices = (known: boolean | undefined) => (known === undefined ? [true, false] : [known])
    for (const cursor of choices(parameters.cursor)) {
      for (const ownerId of this.#owner === undefined ? [false] : choices(parameters.ownerId)) {
        for (const includes of include === undefined ? [false] : choices(included[path])) {
          yield { cursor, ownerId, include: includes }
        }
      }
    }
  }

  #known(list: SourceList): ListFeatures {
    return {
      cursor: this.hasCursors,
      ownerId: this.#owner !== undefined && this.capabilities.parameters?.ownerId === true,
      include: this.hasIncluded(list),
    }
  }

  #query({ include }: SourceList, features: ListFeatures): QueryValues {
    return {
      limit: PAGE_SIZE,
      ...(features.cursor ? { cursor: '' } : { offset: 0 }),
      ...(features.ownerId && this.#owner !== undefined ? { ownerId: this.#owner } : {}),
      ...(features.include && include !== undefined ? { include: include.name } : {}),
    }
  }

  #pageOf(list: SourceList, { status, data }: SourceResponse): SourcePage {
    const page = toPage(data)
    if (page === undefined)
      throw new SourceError(`${this.#source.address} responds to ${list.path} without a list (${status})`)
    return page
  }

  #remember({ path, include }: SourceList, features: ListFeatures, page: SourcePage) {
    // A source that ignores unknown parameters responds without a cursor.
    const cursor = features.cursor && page.nextCursor !== undefined
    this.capabilities = {
      ...this.capabilities,
      parameters: {
        ...this.capabilities.parameters,
        cursor,
        ...(this.#owner === undefined ? {} : { ownerId: features.ownerId }),
      },
      ...(include === undefined
        ? {}
        : { include: { ...this.capabilities.include, [path]: features.include && allHave(page, include.field) } }),
    }
  }
}

/** What a request for a list uses. */
interface ListFeatures {
  readonly cursor: boolean
  readonly ownerId: boolean
  readonly include: boolean
}

const PAGE_SIZE = 100
const MAX_ATTEMPTS = 8
/** The statuses with which servers refuse unknown parameters. */
const REFUSED: ReadonlySet<number> = new Set([400, 422])

/** A page of a list as the source sent it; undefined if it is not a page. */
function toPage(data: unknown): SourcePage | undefined {
  const rows = rowsOf(data)
  if (rows === undefined) return undefined
  const pagination = isObject(data) && isObject(data['pagination']) ? data['pagination'] : {}
  const { limit, nextCursor } = pagination
  return {
    rows: rows.map(sourceRow),
    limit: typeof limit === 'number' && limit >= 1 && limit < PAGE_SIZE ? limit : PAGE_SIZE,
    nextCursor: typeof nextCursor === 'string' || nextCursor === null ? nextCursor : undefined,
  }
}

/** The fields of every record that this one lacks. */
function missingIn({ fields }: SourceList, data: SourceData): readonly string[] {
  return fields.filter(field => data[field] === undefined)
}

/** Whether all rows have a field. A source may ignore an unknown `include`. */
function allHave({ rows }: SourcePage, field: string): boolean {
  return rows.every(({ data }) => field in data)
}

/** Whether a record, or an item in it, has fields that its row in a list lacks. */
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
