import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

export interface StatementResult {
  readonly rows: readonly unknown[]
  /** Of statements that return no rows. */
  readonly changes?: number | bigint
  readonly lastInsertRowid?: number | bigint
}

/** Runs statements on a connection, here or in another thread. */
export interface SqliteExecutor {
  execute(sql: string, parameters: readonly unknown[]): StatementResult | Promise<StatementResult>
  close(): void | Promise<void>
}

/** Runs statements at once, and keeps them prepared. */
export function makeExecutor(database: DatabaseSync): SqliteExecutor {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    if (statements.size >= MAX_STATEMENTS) statements.clear()
    statements.set(sql, statement)
    return statement
  }
  return {
    execute(sql, parameters) {
      const statement = prepare(sql)
      // Whoever wrote the statement passes what the engine can store.
      const values = parameters as SQLInputValue[]
      return statement.columns().length > 0
        ? { rows: statement.all(...values) }
        : { rows: [], ...statement.run(...values) }
    },
    close: () => database.close(),
  }
}

/** A batch of records repeats fewer statements than this. */
const MAX_STATEMENTS = 200
