import assert from 'node:assert/strict'
import pg from 'pg'
import type { Store } from '../../src/store/index.ts'
import { planning } from '../../src/store/postgres.ts'
import { compile, type Query } from '../../src/store/query.ts'
import { connect } from './postgres.ts'

/** The reads of a store, and their plans on PostgreSQL. */

export interface RecordedRead {
  readonly query: Query<never, unknown>
  readonly values: object
}

/** A store that notes each compiled read in `asked`. */
export function watch(store: Store): { watched: Store; asked: RecordedRead[] } {
  const asked: RecordedRead[] = []
  const watched: Store = {
    ...store,
    read(query, values) {
      asked.push({ query, values })
      return store.read(query, values)
    },
  }
  return { watched, asked }
}

/** A connection that plans reads as those of a service are. */
export async function connectAsReader(url: string): Promise<pg.Client> {
  const client = await connect(url)
  for (const [name, value] of Object.entries(planning)) await client.query(`set ${name} = ${value}`)
  return client
}

export interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/** Runs a read and returns its plan with actual numbers of rows. */
export async function planOf(client: pg.Client, { db }: Store, { query, values }: RecordedRead): Promise<Plan> {
  const { sql: text, parameters } = compile(db, 'postgres', query)
  const given = parameters(values).map(value => (typeof value === 'string' ? pg.escapeLiteral(value) : String(value)))
  await client.query(`prepare asked as ${text}`)
  try {
    const execute = given.length === 0 ? 'execute asked' : `execute asked (${given.join(', ')})`
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json, timing off) ${execute}`,
    )
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    assert(plan !== undefined)
    return plan
  } finally {
    await client.query('deallocate asked')
  }
}

export function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan
  for (const child of plan.Plans ?? []) yield* nodesOf(child)
}
