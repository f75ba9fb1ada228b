/** The parts of Kysely that the service uses. `npm run docs` makes kysely.js from this list. */
export {
  CompiledQuery,
  Kysely,
  PostgresDialect,
  sql,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

export type * from 'kysely'
