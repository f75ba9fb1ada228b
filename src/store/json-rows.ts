import { type RawBuilder, sql } from '../vendor/kysely.js'
import type { Engine } from './engine.ts'

/**
 * Passes rows as one parameter, so that the text of a statement does not depend on their number. Each row is a JSON array in the
 * column `value`.
 */
export function jsonRows(engine: Engine, rows: readonly (readonly unknown[])[]): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  return engine === 'sqlite' ? sql`json_each(${json})` : sql`json_array_elements(${json}::json)`
}
