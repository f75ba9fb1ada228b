import type { Kysely } from 'kysely'
import type pg from 'pg'
import { isConnectionLost, isInDoubt, translate } from './postgres-errors.ts'
import { connect } from './postgres-pool.ts'
import { PreparedStatement, runPrepared } from './postgres-read.ts'
import { compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

export type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

/** Runs compiled queries on a pool, as prepared statements. Retries once if the connection was lost. */
export function makeReader(db: Kysely<Tables>, pool: pg.Pool): Reader {
  const statements = new WeakMap<object, PreparedStatement>()
  let prepared = 0

  const prepare = (query: Query<never, unknown>) => {
    const statement = new PreparedStatement(compile(db, 'postgres', query), `read_${(prepared += 1)}`)
    statements.set(query, statement)
    return statement
  }

  return async <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const statement = statements.get(query) ?? prepare(query)
    try {
      return await run<Row>(pool, statement, values).catch((error: unknown) => {
        if (isConnectionLost(error)) return run<Row>(pool, statement, values)
        throw error
      })
    } catch (error) {
      throw translate(error)
    }
  }
}

async function run<Row>(pool: pg.Pool, statement: PreparedStatement, values: object): Promise<Row[]> {
  const client = await connect(pool)
  let failure: unknown
  try {
    return await runPrepared<Row>(client, statement, values)
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.release(isInDoubt(failure))
  }
}
