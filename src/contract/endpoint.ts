import type { Static, TSchema } from 'typebox'
import * as Type from 'typebox'
import { belongs } from './cursor.ts'
import type { FieldError } from './errors.ts'
import type { ReadType } from './reads.ts'
import { cursor, type End, integer, type Parameter, type Parameters, type Parsed, type Sent } from './parameters.ts'

export const scopes = ['lkbx:read', 'dtt:read', 'status:read', 'shared:access'] as const
export type Scope = (typeof scopes)[number]

/** The scopes of the areas of records. Together they also allow statistics. */
export const areaScopes = ['lkbx:read', 'dtt:read'] as const satisfies Scope[]

/** The scopes of an API key unless others are chosen: records of both areas, those of others included. */
export const defaultScopes = [...areaScopes, 'shared:access'] as const satisfies Scope[]

/** Whether an API key with the scopes `granted` may use an endpoint that needs one of `needed`. */
export function hasScope(granted: readonly string[], needed: readonly Scope[]): boolean {
  if (needed.length === 0 || needed.some(scope => granted.includes(scope))) return true
  return needed.includes('status:read') && areaScopes.every(scope => granted.includes(scope))
}

/** One endpoint of the API. The path is written out in full, so that a search finds it here. */
export interface Endpoint<
  Path extends string = string,
  Query extends Parameters = Parameters,
  Data extends TSchema = TSchema,
> {
  readonly path: Path
  readonly summary: string
  readonly description: string | undefined
  /** Scopes of which a key needs one; empty if any key may use the endpoint. */
  readonly scopes: readonly Scope[]
  /** Whether the account of the key needs a subscription tier. */
  readonly entitled: boolean
  /** Names the record in the text of a 404; undefined where the endpoint never sends one. */
  readonly resourceName: string | undefined
  /** The type of its reads in the log of reads, if it returns records. */
  readonly readType: ReadType
  /** Whether it reads a long history, so that an account may ask for few at the same time. */
  readonly isLong: boolean
  readonly query: Query
  /** The schema of `data` in the envelope. */
  readonly data: Data
  /**
   * Returns the errors that concern more than one parameter. It gets the parsed values (undefined for those that were wrong or
   * not sent), a function that says which were wrong, and the time.
   */
  readonly check: Check
}

export type Check = (values: object, isWrong: (name: string) => boolean, now: number) => FieldError[]

/** What a handler receives: the parsed query, and the identifier where the path has one. */
export type Params<E extends Endpoint> = Parsed<E['query']> &
  (E['path'] extends `${string}/:id` ? { readonly id: number } : unknown)

/** What a caller of the typed client passes. */
export type Arguments<E extends Endpoint> = Sent<E['query']> &
  (E['path'] extends `${string}/:id` ? { id: number } : unknown)

export type Data<E extends Endpoint> = Static<E['data']>

interface Facts {
  readonly summary: string
  readonly description?: string
  /** Scopes of which a key needs one; any key may use the endpoint if not given. */
  readonly scope?: Scope | readonly Scope[]
  readonly entitled?: boolean
  readonly resourceName?: string
  readonly readType?: ReadType
  readonly isLong?: boolean
}

/** An endpoint that returns one value. */
export function get<const Path extends string, Data extends TSchema, Query extends Parameters = {}>(
  path: Path,
  facts: Facts & { readonly data: Data; readonly query?: Query; readonly check?: Check },
): Endpoint<Path, Query, Data> {
  return {
    ...commonFacts(path, facts),
    resourceName: facts.resourceName,
    readType: facts.readType ?? 'record',
    // Without `query` in the facts, Query is inferred as {}.
    query: facts.query ?? ({} as Query),
    data: facts.data,
    check: facts.check ?? (() => []),
  }
}

/**
 * An endpoint that returns a page of a list, by offset or by cursor. `filters` select rows, and a cursor is bound to
 * them; `options` change only which fields a row has.
 */
export function listEndpoint<
  const Path extends string,
  Item extends TSchema,
  Filters extends Parameters = {},
  Options extends Parameters = {},
>(
  path: Path,
  facts: Omit<Facts, 'resourceName'> & { readonly item: Item; readonly filters?: Filters; readonly options?: Options },
): ListEndpoint<Path, Item, Filters, Options> {
  // An alias is stored under the name it stands for.
  const filters = Object.entries<Parameter>(facts.filters ?? {}).flatMap(([name, { aliasOf }]) =>
    aliasOf === undefined ? [name] : [],
  )
  const listOf = (values: object) => {
    // The query of a page has every filter by its name; one that was not sent is undefined.
    const sent = values as Record<string, unknown>
    return JSON.stringify([path, ...filters.map(name => sent[name] ?? null)])
  }
  return {
    ...commonFacts(path, facts),
    resourceName: undefined,
    readType: 'list',
    // The defaults of Filters and Options are {}, which is what is missing here when they are not given.
    query: { ...paging, ...(facts.filters as Filters), ...(facts.options as Options) },
    data: pageOf(facts.item),
    item: facts.item,
    listOf,
    check: (values, isWrong) => checkPage(values, () => (filters.some(isWrong) ? undefined : listOf(values))),
  }
}

function commonFacts<Path extends string>(
  path: Path,
  { summary, description, scope, entitled = true, isLong = false }: Facts,
) {
  return { path, summary, description, scopes: scope === undefined ? [] : [scope].flat(), entitled, isLong }
}

export interface ListEndpoint<
  Path extends string = string,
  Item extends TSchema = TSchema,
  Filters extends Parameters = Parameters,
  Options extends Parameters = Parameters,
> extends Endpoint<Path, Paging & Filters & Options, PageSchema<Item>> {
  /** The schema of a record of the list. */
  readonly item: Item
  /** Names the list that a cursor belongs to: the path and the filters. */
  readonly listOf: (values: object) => string
}

export function isListEndpoint(endpoint: Endpoint | ListEndpoint): endpoint is ListEndpoint {
  return 'listOf' in endpoint
}

type PageSchema<Item extends TSchema> = ReturnType<typeof pageOf<Item>>

const limitBounds = { minimum: 1, maximum: 100, default: 50 }
const offsetBounds = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

type Paging = typeof paging
const paging = {
  limit: integer('The most records in the response.', limitBounds, limitBounds.default),
  offset: integer('Number of records to skip (default 0). Not together with `cursor`.', offsetBounds, undefined),
  cursor: cursor(
    'Reads a whole list: send it empty first, then each `nextCursor` until it is null. Returns every record once, even if records are added meanwhile.',
  ),
}

export const offsetPagination = Type.Object(
  {
    limit: Type.Integer({ description: 'The limit that was applied.' }),
    offset: Type.Integer({ description: 'The offset that was applied.' }),
  },
  { additionalProperties: false },
)

export const cursorPagination = Type.Object(
  {
    limit: Type.Integer({ description: 'The limit that was applied.' }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The cursor of the next page; null at the end of the list.',
    }),
  },
  { additionalProperties: false },
)

function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    data: Type.Array(item, { description: 'The records of this page.' }),
    pagination: Type.Union([offsetPagination, cursorPagination], {
      description: 'The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor.',
    }),
  })
}

/** `listOf` returns undefined where a filter was wrong. */
function checkPage(values: object, listOf: () => string | undefined) {
  const errors: FieldError[] = []
  // The query of every page has these parameters; of `from` and `to` the lists of sessions have both.
  const { cursor: sent, offset, from, to } = values as Partial<Parsed<Paging>> & { from?: number; to?: End }
  // A `from` at the end of the day named by `to` is after that day.
  const isBackwards = from !== undefined && to !== undefined && (from > to.before || (to.isDay && from === to.before))
  if (sent !== undefined && offset !== undefined) {
    errors.push({ field: 'cursor', message: 'must not be combined with offset' })
  } else if (sent !== undefined && sent !== 'start' && !isBackwards) {
    const list = listOf()
    // Where a filter was wrong, the cursor cannot be checked.
    if (list !== undefined && !belongs(sent, list)) errors.push({ field: 'cursor', message: paging.cursor.rule })
  }
  if (isBackwards) {
    errors.push({ field: 'from', message: 'must not be after to' })
  }
  return errors
}
