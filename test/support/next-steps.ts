import type { Step } from '../../src/store/steps.ts'

// With a query it is the real one, which this module replaces.
const { href } = new URL('../../src/store/steps.ts?released', import.meta.url)
const released = (await import(href)) as { readonly steps: readonly Step[] }

/** One step of each kind, as a next version may have them. */
export const steps: readonly Step[] = [
  ...released.steps,
  { name: 'a column', statements: ["alter table account add column motto text not null default ''"] },
  {
    name: 'a table',
    statements: [
      `create table visit (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        at integer not null
      ) strict`,
      'create index visit_by_account on visit (account_id, at)',
    ],
  },
  { name: 'rewritten records', statements: [], rewrites: ['training_session'] },
  {
    name: 'a derived column',
    statements: [
      'alter table lock_template drop column is_time_displayed',
      'alter table lock_template add column is_time_displayed integer not null default 0',
    ],
    rewrites: ['lock_template'],
  },
  // Never ends, so that a test can kill a process in the middle.
  ...(process.env['TEST_ENDLESS_STEP'] === undefined ? [] : [{ name: 'endless', statements: [endless()] }]),
]

function endless(): string {
  return 'with recursive n (i) as (select 1 union all select 1 from n) select count(*) from n'
}
