import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Engine } from './index.ts'
import type { Tables } from './tables.ts'

/**
 * A read on the path of a request: compiled once per store, then run with new values each time.
 * `Values` are the values it takes, `Row` is what comes back.
 */
export interface Query<Values, Row> {
  readonly build: (engine: Engine) => RawBuilder<Row>
  /** Type only. */
  readonly values?: Values
}

/** Stands in a query for a value, or for one of a list of values, that each run brings. */
class Placeholder {
  readonly name: string
  readonly index: number | undefined
  constructor(name: string, index?: number) {
    this.name = name
    this.index = index
  }
}

export interface Slots<Values> {
  <Name extends keyof Values & string>(name: Name): RawBuilder<Values[Name]>
  each<Name extends keyof Values & string>(name: Name, count: number): RawBuilder<number>[]
}

export function query<Values, Row>(
  build: (slot: Slots<Values>, engine: Engine) => RawBuilder<Row>,
): Query<Values, Row> {
  const slot = (name: string) => sql.val(new Placeholder(name))
  const each = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => sql.val(new Placeholder(name, index)))
  // sql.val types a slot by the placeholder in it; what runs in its place is the value of that name.
  const slots = Object.assign(slot, { each }) as unknown as Slots<Values>
  return { build: (engine) => build(slots, engine) }
}

export interface Compiled {
  readonly sql: string
  /** Picks the parameters of a run, in order, out of its values. */
  readonly parameters: (values: object) => unknown[]
}

export function compile(db: Kysely<Tables>, engine: Engine, { build }: Query<never, unknown>): Compiled {
  const compiled = build(engine).compile(db)
  const slots = compiled.parameters.map((parameter) =>
    parameter instanceof Placeholder ? parameter : new Constant(parameter),
  )
  return {
    sql: compiled.sql,
    parameters: (values) => {
      const picked: unknown[] = []
      for (const slot of slots) picked.push(slot instanceof Constant ? slot.value : pick(values, slot))
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
  // The type of a query promises a value for each of its slots.
  const value = (values as Record<string, unknown>)[name]
  return index === undefined ? value : (value as readonly unknown[])[index]
}
