import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Engine } from './engine.ts'
import type { Tables } from './tables.ts'

/**
 * A read on the path of a request: compiled once per store, then run with new values each time.
 * `Values` are the values it takes, `Row` is what comes back.
 */
export interface Query<Values, Row> {
  readonly build: (engine: Engine) => RawBuilder<Row>
  /** Whether it reads nothing but records, which a replica has too. */
  readonly onlyRecords: boolean
  /** Type only: what it takes may have more than it needs. */
  readonly values?: (values: Values) => void
}

/** Stands in a query for a value, or for one of a list of values, that each run brings. */
class Placeholder {
  readonly name: string
  readonly index: number | 'json' | undefined
  constructor(name: string, index?: number | 'json') {
    this.name = name
    this.index = index
  }
}

export interface Params<Values> {
  /** What the query is built for. */
  readonly engine: Engine
  <Name extends keyof Values & string>(name: Name): RawBuilder<Values[Name]>
  /** A param for each of the first values of a list. */
  each<Name extends keyof Values & string>(name: Name, count: number): RawBuilder<number>[]
  /** The whole list as rows of one column, however long it is. */
  rows<Name extends keyof Values & string>(name: Name): RawBuilder<number>
}

export function query<Values, Row>(
  build: (param: Params<Values>) => RawBuilder<Row>,
  onlyRecords = false,
): Query<Values, Row> {
  const each = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => sql.val(new Placeholder(name, index)))
  return {
    onlyRecords,
    build: engine => {
      const param = (name: string) => sql.val(new Placeholder(name))
      const rows = (name: string) => {
        const json = sql.val(new Placeholder(name, 'json'))
        return engine === 'sqlite'
          ? sql`(select value from json_each(${json}))`
          : sql`(select value::bigint from json_array_elements_text(${json}::json))`
      }
      // sql.val types a param by the placeholder in it; what runs in its place is the value of that name.
      return build(Object.assign(param, { engine, each, rows }) as unknown as Params<Values>)
    },
  }
}

/** A query of records alone: it may be a few seconds behind, like the replica that answers it. */
export function recordQuery<Values, Row>(build: (param: Params<Values>) => RawBuilder<Row>): Query<Values, Row> {
  return query(build, true)
}

export interface Compiled {
  readonly sql: string
  /** Picks the parameters of a run, in order, out of its values. */
  readonly parameters: (values: object) => unknown[]
}

export function compile(db: Kysely<Tables>, engine: Engine, { build }: Query<never, unknown>): Compiled {
  const compiled = build(engine).compile(db)
  const params = compiled.parameters.map(parameter =>
    parameter instanceof Placeholder ? parameter : new Constant(parameter),
  )
  return {
    sql: compiled.sql,
    parameters: values => {
      const picked: unknown[] = []
      for (const param of params) picked.push(param instanceof Constant ? param.value : pick(values, param))
      return picked
    },
  }
}

class Constant {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

function pick(values: object, { name, index }: Placeholder): unknown {
  // The type of a query promises a value for each of its params.
  const value = (values as Record<string, unknown>)[name]
  if (index === undefined) return value
  return index === 'json' ? JSON.stringify(value) : (value as readonly unknown[])[index]
}
