import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { open } from '../../src/store/index.ts'
import { everything } from './every-table.ts'

/** Something that writes to an SQLite database, and can be done again after it failed. */
export interface Writing extends AsyncDisposable {
  readonly databaseUrl: string
  /** Does it; returns whether it succeeded. */
  attempt(): Promise<boolean>
}

/**
 * Shows that nothing of it is stored if any one of its writes fails. `prepare` makes a database in the same state each time;
 * `after` names writes that come after it was stored, such as `delete on "job"`.
 */
export async function assertWholeOrNothing(prepare: () => Promise<Writing>, after: readonly string[] = []) {
  const steps = (await stepsOf(prepare)).filter(step => !after.includes(step))
  assert.ok(steps.length > 0)
  await using writing = await prepare()
  const before = await stateOf(writing)
  for (const step of steps) {
    change(writing, `create trigger stop before ${step} begin select raise(abort, 'stopped'); end`)
    const succeeded = await writing.attempt()
    change(writing, 'drop trigger stop')
    assert.ok(!succeeded, `${step} is stopped`)
    assert.equal(await stateOf(writing), before, step)
  }
  assert.ok(await writing.attempt())
  assert.notEqual(await stateOf(writing), before)
}

/** What it does to which tables, such as `update on "account"`. */
async function stepsOf(prepare: () => Promise<Writing>): Promise<string[]> {
  await using writing = await prepare()
  const tables = Object.keys(await rowsOf(writing))
  const triggers = tables.flatMap((table, index) =>
    ['insert', 'update', 'delete'].map(
      what => `create trigger "see ${what} ${index}" after ${what} on "${table}"
        begin insert into seen select '${what} on "${table}"' where '${what} on "${table}"' not in (select step from seen); end`,
    ),
  )
  change(writing, `create table seen (step text primary key) strict; ${triggers.join('; ')}`)
  assert.ok(await writing.attempt())
  using database = new DatabaseSync(pathOf(writing), { timeout: 5000 })
  const steps = database.prepare('select step from seen').all()
  return steps.map(({ step }) => String(step)).filter(step => step !== USE_OF_SESSION)
}

/** When a session was used is stored beside its requests. */
const USE_OF_SESSION = 'update on "browser_session"'

function change(writing: Writing, statements: string) {
  using database = new DatabaseSync(pathOf(writing), { timeout: 5000 })
  database.exec(statements)
}

async function stateOf(writing: Writing): Promise<string> {
  // A challenge counts as used even if what it was for fails.
  const { used_challenge: _, ...tables } = await rowsOf(writing)
  return JSON.stringify(tables).replaceAll(/\[\\"seen_at\\",\d+\]/g, '')
}

async function rowsOf({ databaseUrl }: Writing) {
  const store = await open(databaseUrl, { busyTimeoutMs: 5000 })
  try {
    return await everything(store)
  } finally {
    await store.close()
  }
}

function pathOf({ databaseUrl }: Writing): string {
  return databaseUrl.slice('sqlite:'.length)
}
