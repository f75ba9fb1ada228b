import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from './tables.ts'

/**
 * A read on the path of a request: compiled once per store, then run with new values each time.
 * `Values` are the values it takes, `Row` is what comes back.
 */
export interface Query<Values, Row> {
  readonly build: (engine: Engine, isDistributed?: boolean) => RawBuilder<Row>
  /** Type only: a run may pass more values than the query needs. */
  readonly values?: (values: Values) => void
}

export type Params<Values> = ReturnType<typeof makeParams<Values>>

export function query<Values, Row>(build: (param: Params<Values>) => RawBuilder<Row>): Query<Values, Row> {
  return { build: (engine, isDistributed = false) => build(makeParams(engine, isDistributed)) }
}

export type Compiled = ReturnType<typeof compile>

export function compile(db: Kysely<Tables>, engine: Engine, { build }: Query<never, unknown>, isDistributed = false) {
  const compiled = build(engine, isDistributed).compile(db)
  const readers = compiled.parameters.map(parameter =>
    // A query is built with its own placeholders alone, and is only run with its own values.
    parameter instanceof Placeholder ? (parameter as Placeholder<object>).read : () => parameter,
  )
  return { sql: compiled.sql, parameters: (values: object): unknown[] => readers.map(read => read(values)) }
}

/** Stands in a query for a value that each run brings. */
class Placeholder<Values> {
  readonly read: (values: Values) => unknown

  constructor(read: (values: Values) => unknown) {
    this.read = read
  }
}

function makeParams<Values>(engine: Engine, isDistributed: boolean) {
  // sql.val types a parameter by the placeholder in it; what runs in its place is the value that it reads.
  const placeholder = <Value>(read: (values: Values) => unknown) =>
    sql.val(new Placeholder(read)) as unknown as RawBuilder<Value>
  const param = <Name extends keyof Values & string>(name: Name) => placeholder<Values[Name]>(values => values[name])
  return Object.assign(param, {
    engine,
    /** `one`, or `several` where records are distributed by their owner, so that those of different owners cannot be joined. */
    onOneServer: <Value>(one: Value, several: Value) => (isDistributed ? several : one),
    /**
     * A parameter for a limit or an offset. As an expression, because SQLite compiles a statement again each time that a bare
     * parameter of a limit is bound.
     */
    count: <Name extends keyof Values & string>(name: Name) =>
      engine === 'sqlite' ? sql<Values[Name]>`${param(name)} + 0` : param(name),
    /** A parameter for each of the first `count` items of a list. */
    each: <Item>(list: (values: Values) => readonly Item[], count: number) =>
      Array.from({ length: count }, (_, index) => placeholder<Item>(values => list(values)[index])),
    /** The whole list as rows of one column, however long it is. */
    rows: (list: (values: Values) => readonly number[]) => {
      const json = placeholder<string>(values => JSON.stringify(list(values)))
      return engine === 'sqlite'
        ? sql<number>`(select value from json_each(${json}))`
        : sql<number>`(select value::bigint from json_array_elements_text(${json}::json))`
    },
    /** Of a list of keys and values, the value for a key; null if the key is not in it. */
    valueFor: (key: RawBuilder<unknown>, list: (values: Values) => readonly (readonly [number, number])[]) => {
      const json = placeholder<string>(values => JSON.stringify(list(values)))
      return engine === 'sqlite'
        ? sql<number>`(select value ->> 1 from json_each(${json}) where value ->> 0 = ${key})`
        : sql<number>`(select (value ->> 1)::bigint from json_array_elements(${json}::json) where (value ->> 0)::bigint = ${key})`
    },
  })
}

export type Engine = 'sqlite' | 'postgres'

/**
 * Passes rows as one parameter, so that the text of a statement does not depend on their number. Each row is a JSON array in the
 * column `value`.
 */
export function jsonRows(engine: Engine, rows: readonly (readonly unknown[])[]): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  return engine === 'sqlite' ? sql`json_each(${json})` : sql`json_array_elements(${json}::json)`
}
