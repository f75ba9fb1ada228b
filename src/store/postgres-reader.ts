import type { Kysely } from 'kysely'
import type pg from 'pg'
import { PreparedStatement, Read } from './postgres-read.ts'
import { ReadQueue, type StatementNames } from './postgres-read-queue.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

export type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

interface Prepared {
  readonly statement: PreparedStatement
  readonly parameters: Compiled['parameters']
}

/** Runs compiled queries on a pool, as prepared statements. Retries once if the connection was lost. */
export function makeReader(db: Kysely<Tables>, pool: pg.Pool, names: StatementNames): Reader {
  const statements = new WeakMap<object, Prepared>()
  // Queries with the same text are one statement of the server.
  const bySql = new Map<string, PreparedStatement>()
  const queue = new ReadQueue(pool, names)

  const prepare = (query: Query<never, unknown>) => {
    const { sql, parameters } = compile(db, 'postgres', query)
    const prepared = { statement: bySql.getOrInsertComputed(sql, () => new PreparedStatement(sql)), parameters }
    statements.set(query, prepared)
    return prepared
  }

  const run = <Row>({ statement, parameters }: Prepared, values: object) =>
    new Promise<Row[]>((resolve, reject) => {
      // The columns of a query are those of its Row.
      queue.add(new Read(statement, parameters(values), rows => resolve(rows as Row[]), reject))
    })

  return <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> =>
    run(statements.get(query) ?? prepare(query), values)
}
