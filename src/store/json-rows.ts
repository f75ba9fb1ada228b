import { type RawBuilder, sql } from '../vendor/kysely.js'
import type { Engine } from './engine.ts'

/** Rows as one parameter, so that statements of any number of them have the same text: their column is `value`, an array as JSON. */
export function jsonRows(engine: Engine, rows: readonly (readonly unknown[])[]): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  return engine === 'sqlite' ? sql`json_each(${json})` : sql`json_array_elements(${json}::json)`
}
