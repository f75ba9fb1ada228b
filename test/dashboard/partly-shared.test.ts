// engine: sqlite
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { giveAccess } from '../support/sharing.ts'
import { type Visitor, signInAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const now = Date.now()
const start = formatTimestamp(now - 2 * DAY_MS)
const recordsFrom = Math.floor(now / DAY_MS - 9) * DAY_MS

describe('somebody who may read a part of the records of another account', () => {
  let service: TestService
  let ben: Visitor
  before(async () => {
    service = await startService(
      [
        { ...records.account(1, 'ann'), asOf: formatTimestamp(now) },
        records.account(2, 'ben'),
        records.trainingTemplate(1, 1),
        records.trainingSession(11, 1, { created_at: start }),
        records.lockTemplate(41, 1),
        records.lockSession(51, 1, {
          lockState: 'locked',
          startDate: start,
          isActive: true,
          LockSegment: [records.lockSegment(1, 'start', start, true)],
        }),
      ],
      unlimited,
    )
    ben = await signInAs(service, 'ben')
  })
  after(() => service[Symbol.asyncDispose]())

  const share = async (areas: readonly ('lkbx' | 'dtt')[], from: number | null = null) => {
    await giveAccess(service.store, { ownerId: 1, partnerId: 2 }, { areas, recordsFrom: from }, now)
    await ben.post('/subject', { subject: '1', back: '/' })
  }
  const wordsOf = async (path: string) =>
    (await ben.get(path)).text.replaceAll(/<script[^]*?<\/script>|<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

  test('pages of an area that is not shared say so, and not that there are no records', async () => {
    for (const [area, other, shared] of [
      ['dtt', 'lkbx', 'Training'],
      ['lkbx', 'dtt', 'Locks'],
    ] as const) {
      await share([area])
      const hidden = pages.filter(page => page.reads === 'list' && page.area === other)
      assert.ok(hidden.length > 1)
      for (const { path } of hidden) {
        const words = await wordsOf(path)
        assert.match(words, new RegExp(`Not shared with you What ann shares with you is ${shared}\\.`), path)
        assert.doesNotMatch(words, / yet\b|Connect a server/, path)
      }
    }
  })

  test('the overview shows nothing of an area that is not shared', async () => {
    await share(['dtt'])
    const training = await wordsOf('/')
    assert.match(training, / This week (19 repetitions 1 session|0 repetitions 0 sessions) .* Repetitions 19 /)
    assert.doesNotMatch(training, /\bLocks?\b|locked/)
    await share(['lkbx'])
    const locks = await wordsOf('/')
    assert.match(locks, / Days with a lock 3 of the last 28 days /)
    assert.doesNotMatch(locks, /Training|\bsessions? on\b/)
    for (const words of [training, locks]) assert.doesNotMatch(words, /No (training|lock) session yet|\b0 days/)
  })

  test('first of all a page says whose records it shows, as of when, which areas are shared and from which day on; others are no destinations', async () => {
    const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    await share(['dtt'], recordsFrom)
    const from = day.format(recordsFrom)
    assert.match(await wordsOf('/'), new RegExp(`ann training from ${from}( \\d+)? on read only as of `))
    assert.match(await wordsOf('/'), /Overview Training Year .* ann training from/)
    await share(['lkbx', 'dtt'])
    assert.match(
      await wordsOf('/'),
      /Overview Training Locks Year .* ann locks and training read only as of \d+ \w+( \d+)?, \d\d:\d\d /,
    )
  })

  test('a record that somebody typed into a table says so, in lists and on its page, also to those who may read it', async () => {
    await share(['lkbx', 'dtt'])
    const paths = ['/training/11', '/training?range=all', '/locks/51', '/locks?range=all']
    for (const path of paths) assert.doesNotMatch(await wordsOf(path), /Entered by hand/, path)
    const typed = { made_here: JSON.stringify({ minute: '2026-02-16T18:00' }) }
    for (const table of ['training_session', 'lock_session'] as const)
      await service.store.db.updateTable(table).set(typed).execute()
    await service.store.db.updateTable('account').set({ training_session_revision: 7 }).execute()
    for (const path of paths) assert.match(await wordsOf(path), /Entered by hand/, path)
  })
})
