// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from '../support/archives.ts'
import { account, lockTemplate } from '../support/records.ts'
import { makeClock, pull } from '../support/sources/pulls.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'

const now = Date.parse('2026-03-10T12:00:00Z')

/** A source whose API key is of account 1, and whose records differ from those here. */
function startForeign() {
  const world = new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    lockTemplate(1, 1, { name: 'of the source' }),
    lockTemplate(2, 2, { name: 'of the source' }),
  )
  return startSource({ world, identity: '/users/me', others: [2] })
}

test('a source that claims the id and the name of an account here replaces its records only if --account names it', async () => {
  await using source = await startForeign()
  await using here = await openStore([account(1, 'ann'), lockTemplate(1, 1)])
  const options = { clock: makeClock(now) }
  const before = await here.export()
  await assert.rejects(pull(here.store, source.url, options), {
    code: 'usage',
    message: /^account 1 has records that are not from this source, .+ \(--account 1\)$/,
  })
  assert.equal(await here.export(), before)
  await pull(here.store, source.url, { ...options, account: '1' })
  assert.match(await here.export(1), /of the source/)
  // From now on, its records come from this source.
  await pull(here.store, source.url, options)

  await using other = await startForeign()
  const pulled = await here.export()
  await assert.rejects(pull(here.store, other.url, options), /^Refusal: account 1 has records/)
  assert.equal(await here.export(), pulled)
  await pull(here.store, other.url, { ...options, account: 'ann' })
  for (const { url } of [source, other]) await pull(here.store, url, options)
})

test('an account that was added here and has nothing yet is filled by a source that has its id and name', async () => {
  await using source = await startForeign()
  await using here = await openStore([account(1, 'ann')])
  const report = await pull(here.store, source.url, { clock: makeClock(now) })
  assert.deepEqual([report.accountId, report.setAside.count], [1, 0])
})
