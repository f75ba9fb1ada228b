import type { Kysely } from 'kysely'
import type pg from 'pg'
import { isDistributed, type KnownDistribution } from './distributed.ts'
import { isConnectionLost, translate } from './postgres-errors.ts'
import { connect } from './postgres-pool.ts'
import { PreparedStatement, Read } from './postgres-read.ts'
import { ReadQueue } from './postgres-read-queue.ts'
import { compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

export type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

/** Runs compiled queries on a pool, as prepared statements. Retries once if the connection was lost. */
export function makeReader(db: Kysely<Tables>, pool: pg.Pool, known: KnownDistribution): Reader {
  const statements = new WeakMap<object, PreparedStatement>()
  // A statement over several servers must have a transaction of its own, so it is not batched.
  const queue = new ReadQueue(pool, statement => known.isDistributed === false && statement.isShort)
  let prepared = 0

  let detecting: Promise<boolean> | undefined

  const prepare = async (query: Query<never, unknown>) => {
    if (known.isDistributed === undefined) {
      detecting ??= retried(() => detect(pool)).finally(() => (detecting = undefined))
      known.isDistributed = await detecting
    }
    const compiled = compile(db, 'postgres', query, known.isDistributed)
    const statement = new PreparedStatement(compiled, `read_${(prepared += 1)}`)
    statements.set(query, statement)
    return statement
  }

  const run = <Row>(statement: PreparedStatement, values: object) =>
    new Promise<Row[]>((resolve, reject) => {
      // The columns of a query are those of its Row.
      queue.add(new Read(statement, values, rows => resolve(rows as Row[]), reject))
    })

  return <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const statement = statements.get(query)
    if (statement !== undefined) return run(statement, values)
    return prepare(query).then(
      made => run(made, values),
      (error: unknown) => {
        throw translate(error)
      },
    )
  }
}

async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isConnectionLost(error)) return work()
    throw error
  }
}

/** Whether records are distributed. If so, the connection is closed, because its plans could not be distributed. */
async function detect(pool: pg.Pool): Promise<boolean> {
  const client = await connect(pool)
  let found: boolean | undefined
  try {
    found = await isDistributed(text => client.query(text))
    return found
  } finally {
    client.release(found !== false)
  }
}
