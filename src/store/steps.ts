import type { Engine } from './query.ts'
import type { RecordName } from './tables.ts'

/** A step of the schema. A released one is never edited, because its checksum is stored in every database. */
export interface Step {
  readonly name: string
  /** In the SQL of SQLite; `forEngine` translates it. */
  readonly statements: readonly string[]
  /** The only engine that runs them; the other one records the step as applied. */
  readonly only?: Engine
  /** Tables whose records are read again, as an import reads them, and stored as they are then. SQLite is copied before. */
  readonly rewrites?: readonly RecordName[]
}

/** What follows the baseline, in order. */
export const steps: readonly Step[] = []
