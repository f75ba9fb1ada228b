import type { Kysely } from 'kysely'
import type pg from 'pg'
import { isConnectionLost, isInDoubt, translate } from './postgres-errors.ts'
import { connect } from './postgres-pool.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

export type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

/** Runs compiled queries on a pool, as prepared statements. Retries once if the connection was lost. */
export function makeReader(db: Kysely<Tables>, pool: pg.Pool): Reader {
  const statements = new WeakMap<object, Compiled & { readonly name: string }>()
  let prepared = 0

  const prepare = (query: Query<never, unknown>) => {
    const statement = { ...compile(db, 'postgres', query), name: `read_${(prepared += 1)}` }
    statements.set(query, statement)
    return statement
  }

  return async <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const { name, sql: text, parameters } = statements.get(query) ?? prepare(query)
    const statement = { name, text, values: parameters(values) }
    try {
      return await run<Row>(pool, statement).catch((error: unknown) => {
        if (isConnectionLost(error)) return run<Row>(pool, statement)
        throw error
      })
    } catch (error) {
      throw translate(error)
    }
  }
}

async function run<Row>(pool: pg.Pool, statement: pg.QueryConfig<unknown[]>): Promise<Row[]> {
  const client = await connect(pool)
  let failure: unknown
  try {
    // The columns of a query are those of its Row.
    const result = (await client.query(statement)) as unknown as { rows: Row[] }
    const { rows } = result
    // The result object waited for the rows and is old by now: rows that it held would live until a full collection.
    result.rows = []
    return rows
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.release(isInDoubt(failure))
  }
}
