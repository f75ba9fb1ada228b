import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type pg from 'pg'
import { isConnectionLost, isInDoubt, translate } from './postgres-errors.ts'
import { takeClient } from './postgres-pool.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

interface Prepared {
  /** The same for the same text in every process: a pooler may give one process the statements of another. */
  readonly name: string
  readonly text: string
  readonly parameters: Compiled['parameters']
}

/** Runs compiled queries on a pool, as prepared statements; once more where the connection was lost before there was an answer. */
export function makeReader(db: Kysely<Tables>, pool: pg.Pool, isDistributed: () => boolean) {
  const statements = new WeakMap<object, Prepared>()

  const prepare = (query: Query<never, unknown>): Prepared => {
    const { sql: text, parameters } = compile(db, 'postgres', query, isDistributed())
    return { name: `lockstep_${hash('sha256', text, 'base64url')}`, text, parameters }
  }

  return async <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const { name, text, parameters } = statements.getOrInsertComputed(query, () => prepare(query))
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

async function run<Row>(pool: pg.Pool, statement: pg.QueryConfig): Promise<Row[]> {
  const client = await takeClient(pool)
  let failure: unknown
  try {
    const { rows } = await client.query(statement)
    // The columns of a query are those of its Row.
    return rows as Row[]
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.release(isInDoubt(failure))
  }
}
