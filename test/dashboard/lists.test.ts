// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { type Visitor, signInAs } from '../support/dashboard.ts'
import { MAX_PAGE_BYTES, MAX_PAGE_NODES, nodesOf } from '../support/page-budgets.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const MANY = 2000
const now = Math.floor(Date.now() / 1000) * 1000
const ago = (days: number) => formatTimestamp(now - days * DAY_MS)

/** Programs and lock templates, each used once. The longest program has more runs than a strip has parts. */
function* history() {
  yield records.account(1, 'ann')
  for (let id = 1; id <= MANY; id += 1) {
    yield records.trainingTemplate(id, 1, {
      name: `A program with a long name, number ${id}`,
      isActive: id === 7,
      Segment: [
        { id: 3 * id, type: 'warmup', duration: 120, repeat: 1, order: 1, passFailEnabled: false },
        { id: 3 * id + 1, type: 'training', duration: 60, repeat: 2, order: 2 },
        { id: 3 * id + 2, type: 'repetition', duration: 40, repeat: 1, order: 3 },
      ],
    })
    yield records.lockTemplate(id, 1, { name: `Rules ${id}` })
    yield records.trainingSession(id, 1, {
      passed: id % 3 > 0,
      created_at: ago(id / 50),
      settings_id: id,
      TrainerSegment: [records.trainerSegment(id, { percentGrade: 70, distanceTravelled: 12_345.6 })],
    })
  }
}

describe('lists of 2,000 programs and lock templates', () => {
  let service: TestService
  let ann: Visitor
  before(async () => {
    service = await startService([...history()], unlimited)
    ann = await signInAs(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())

  test('lists of 2,000 records have pages, which list each record once', async () => {
    for (const list of ['/programs', '/lock-templates']) {
      const seen = new Set<string>()
      for (let path: string | undefined = list; path !== undefined;) {
        const { text } = await ann.get(path)
        const rows = [...text.matchAll(new RegExp(`<tr><td[^>]*><a href="(${list}/\\d+)"`, 'g'))]
        assert.ok(rows.length > 0 && rows.length <= 100, path)
        for (const [, address = ''] of rows) seen.add(address)
        const [, next] = /rel="next" href="([^"#]+)#/.exec(text) ?? []
        path = next?.replaceAll('&amp;', '&')
      }
      assert.equal(seen.size, MANY)
    }
    const last = (await ann.get('/programs?page=99999&kept=1')).text
    assert.match(last, /1,996–2,000 of 2,000/)
    assert.match(last, /name="kept" value="1">Page <input name="page" aria-label="Page" value="134"[^>]*> of 134 /)
  })

  test('a list has an address with all of its rows, to print; beyond 1,000 of them it has pages', async () => {
    const { text } = await ann.get('/lock-templates')
    const [, address = ''] = /href="([^"]*)">Print all rows</.exec(text) ?? []
    const all = (await ann.get(address.replaceAll('&amp;', '&'))).text
    assert.equal([...all.matchAll(/<tr><td[^>]*><a href="\/lock-templates\/\d+"/g)].length, 1000)
    assert.match(all, /1–1,000 of 2,000/)
    assert.match(all, /rel="next" href="\/lock-templates\?rows=all&amp;page=2#/)
    assert.doesNotMatch(all, /Print all rows/)
  })

  test('pages that name 2,000 programs and lock templates stay within the size budgets', async () => {
    for (const path of [
      '/',
      '/programs',
      '/lock-templates',
      '/training?range=1y',
      '/training?program=9',
      '/training/5',
    ]) {
      const { status, text } = await ann.get(path)
      assert.equal(status, 200)
      assert.ok(Buffer.byteLength(text) <= MAX_PAGE_BYTES, `${path}: ${Buffer.byteLength(text)}`)
      assert.ok(nodesOf(text) <= MAX_PAGE_NODES, path)
    }
    assert.match((await ann.get('/training?program=9')).text, /<option value="9" selected>/)
  })
})
