import type { Kysely } from 'kysely'
import type pg from 'pg'
import { translate } from './postgres-errors.ts'
import { PreparedStatement, Read } from './postgres-read.ts'
import { ReadQueue, type StatementNames } from './postgres-read-queue.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

export type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

interface Prepared {
  readonly statement: PreparedStatement
  readonly parameters: Compiled['parameters']
}

/** Whether the records that a pool reads are on several servers. */
export interface KnownServers {
  /** Undefined until the first read. */
  areSeveral: boolean | undefined
  detect(): Promise<boolean>
}

/** Runs compiled queries on a pool, as prepared statements. Retries once if the connection was lost. */
export function makeReader(db: Kysely<Tables>, pool: pg.Pool, servers: KnownServers, names: StatementNames): Reader {
  const statements = new WeakMap<object, Prepared>()
  // Queries with the same text are one statement of the server.
  const bySql = new Map<string, PreparedStatement>()
  // A statement over several servers must have a transaction of its own, so it is not batched.
  const queue = new ReadQueue(pool, statement => servers.areSeveral === false && statement.isShort, names)

  const prepare = async (query: Query<never, unknown>) => {
    const { sql, parameters } = compile(db, 'postgres', query, servers.areSeveral ?? (await servers.detect()))
    const prepared = { statement: bySql.getOrInsertComputed(sql, () => new PreparedStatement(sql)), parameters }
    statements.set(query, prepared)
    return prepared
  }

  const run = <Row>({ statement, parameters }: Prepared, values: object) =>
    new Promise<Row[]>((resolve, reject) => {
      // The columns of a query are those of its Row.
      queue.add(new Read(statement, parameters(values), rows => resolve(rows as Row[]), reject))
    })

  return <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const prepared = statements.get(query)
    if (prepared !== undefined) return run(prepared, values)
    return prepare(query).then(
      statement => run(statement, values),
      (error: unknown) => {
        throw translate(error)
      },
    )
  }
}
