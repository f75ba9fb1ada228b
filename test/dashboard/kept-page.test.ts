// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { durationText, hoursText, numberText } from '../../src/dashboard/text/text.ts'
import { makeFolder } from '../support/command.ts'
import { asRead, sampleService, shownText, signInAs, visitorAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

interface Table {
  readonly columns: readonly { readonly title: string }[]
  readonly rows: readonly (readonly string[])[]
}

/** The tables of the file, by name. */
function tablesOf(page: string): Map<string, Table> {
  const all = page.matchAll(
    /<h2>([^<]*)<\/h2><span class="muted">[\d,]+ rows<.*?<table class="compact">(.*?)<\/table>/gs,
  )
  return new Map(
    [...all].map(([, name = '', markup = '']) => {
      const [head = '', ...lines] = markup.split(/<tr(?: id="[a-z]+-\d+")?><td(?: id="[^"]*")?>/)
      const columns = [...head.matchAll(/<th(?: [^>]*)?>([^<]*)/g)].map(([, title = '']) => ({ title: title.trim() }))
      return [name, { columns, rows: lines.map(line => line.split('<td>')) }]
    }),
  )
}

describe('the page to keep', () => {
  let service: TestService
  let page: string
  before(async () => {
    service = await sampleService(unlimited)
    const alex = await visitorAs(service.url, 'alex')
    const { text, headers } = await alex.get('/settings/page')
    assert.match(headers.get('Content-Disposition') ?? '', /lockstep-\d{4}-\d{2}-\d{2}\.html/)
    page = text
  })
  after(() => service[Symbol.asyncDispose]())

  test('needs nothing from elsewhere: its policy allows its own style alone', () => {
    const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? []
    assert.match(policy, /^default-src (?:'|&#39;)none(?:'|&#39;);/)
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? []
    assert.ok(policy.includes(`sha256-${hash('sha256', style, 'base64')}`))
    assert.doesNotMatch(page, /<script/)
    assert.deepEqual([...page.matchAll(/ (?:src|href|action)="(?!#)[^"]*"/g)], [])
    assert.doesNotMatch(page.replaceAll('http://www.w3.org/2000/svg', ''), /https?:\/\/|url\((?!#)|@import/)
  })

  test('says how things were when it was written: the lock, the week and the last session', async () => {
    const [, present = ''] =
      /<section class="kept" id="present">([^]*?)<section class="card" id="years">/.exec(page) ?? []
    const text = shownText({ text: present })
    assert.match(text, /^ ?On \d+ \w+ \d{4}, \d\d:\d\d /)
    assert.doesNotMatch(text, /\bago\b/, 'a file is read when that is not true any more')
    const { data: session } = (await service.fetch('/api/v1/dtt/sessions/latest', 'alex')).body
    assert.match(text, new RegExp(`Last session .*${session.repsMeasured} repetitions`))
    const { data: lock } = (await service.fetch('/api/v1/lkbx/session/current', 'alex')).body
    assert.ok(text.includes(lock.name), text)
    assert.match(text, /Locked, day\s\d+ .* Planned end \d+ \w+( \d+)?, [\d:]+ Days with a lock /)
  })

  test('has the figures of the API, by year and by session', async () => {
    const today = formatTimestamp(Date.now()).slice(0, 10)
    // On the first days of a year there may be nothing yet.
    const year = Number(today.slice(0, 4)) - (today.slice(5, 7) === '01' ? 1 : 0)
    const last = today < `${year}-12-31` ? today : `${year}-12-31`
    const range = `tz=UTC&bucket=month&from=${year}-01-01&to=${last}`
    const { total: training } = (await service.fetch(`/api/v1/dtt/stats?${range}`, 'alex')).body.data
    const { total: locks } = (await service.fetch(`/api/v1/lkbx/stats?${range}`, 'alex')).body.data
    const [, figures = ''] = new RegExp(`id="year-${year}">([^]*?)</dl>`).exec(page) ?? []
    const texts = figures.split(/[<>]|, | of training| locks? begun/)
    const sums = [numberText(training.sessions), numberText(training.repsMeasured)]
    const times = [hoursText(training.durationMeasured), durationText(locks.lockedSeconds)].map(asRead)
    for (const text of [...sums, ...times, numberText(locks.started)]) assert.ok(texts.includes(text), text)
    const [, row = ''] = new RegExp(`<a href="#year-${year}">(.*?)</tr>`).exec(page) ?? []
    for (const sum of sums) assert.ok(row.includes(`>${sum}<`), `${sum} in all years`)
    const client = await service.as('alex')
    const [reps, segments]: [string[], string[]] = [[], []]
    for await (const session of client.all('/api/v1/dtt/sessions', { ownerId: 'me' })) {
      reps.push(numberText(session.repsMeasured))
      segments.push(...session.TrainerSegment.map(({ repsMeasured }) => numberText(repsMeasured)))
    }
    const tables = tablesOf(page)
    const column = (name: string, title: string) => {
      const { columns = [], rows = [] } = tables.get(name) ?? {}
      const index = columns.findIndex(one => one.title === title)
      return rows.map(cells => cells[index])
    }
    assert.deepEqual(column('Training sessions', 'Repetitions'), reps)
    for (const when of column('Training sessions', 'When')) assert.match(when ?? '', /^\d+\s\w+\s\d{4},\s\d\d:\d\d$/)
    assert.deepEqual(column('Segments', 'Repetitions'), segments)
    let locked = 0
    for await (const _ of client.all('/api/v1/lkbx/sessions', { ownerId: 'me' })) locked += 1
    assert.equal(tables.get('Lock sessions')?.rows.length, locked)
    const { body: own } = await service.fetch('/api/v1/lkbx/templates?ownerId=me', 'alex')
    const lengths = column('Lock templates', 'Rules').map(rules => /^Length: [^;]+;/.test(rules ?? ''))
    assert.deepEqual(lengths, Array(own.data.data.length).fill(true))
    assert.ok(lengths.length > 0)
  })

  test('leads from each day with training, and each session that is named, to its row', () => {
    const links = [...page.matchAll(/ href="#([^"]*)"/g)].map(([, id = '']) => id)
    const rows = new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id))
    assert.ok(new Set(links.filter(id => id.startsWith('day-'))).size > 50)
    assert.ok(links.some(id => id.startsWith('training-')) && links.some(id => id.startsWith('locks-')))
    assert.deepEqual(
      links.filter(id => !rows.has(id)),
      [],
    )
  })

  test('has no record of anybody else, also where they are shared', () => {
    assert.doesNotMatch(page, /robin|\bsam\b/i)
  })
})

test('the page to keep has neither the end of a lock that hides it nor what hidden names say', async () => {
  const end = formatTimestamp(Date.now() + 3 * DAY_MS)
  const start = formatTimestamp(Date.now() - 2 * DAY_MS)
  await using service = await startService([
    records.account(1, 'ann'),
    records.lockTemplate(41, 1, { isTimeDisplayed: false }),
    records.lockSession(
      51,
      1,
      {
        name: 'Weekend',
        lockState: 'locked',
        isActive: true,
        startDate: start,
        endDate: end,
        duration: 802_801,
        LockSegment: [records.lockSegment(1, 'start', start, true)],
      },
      { templateId: 41 },
    ),
  ])
  const ann = await signInAs(service, 'ann')
  const { text } = await ann.get('/settings/page')
  assert.match(text, /Weekend/)
  assert.doesNotMatch(text, /802801|9\sd\s6\sh|9\sd\s7/)
  const shownEnd = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  })
  assert.ok(!text.includes(shownEnd.format(Date.parse(end))))
  ann.cookies.set('discreet', '1')
  assert.doesNotMatch((await ann.get('/settings/page')).text, /Weekend|>ann</)
})

test('ten years of the sample fit into three megabytes', async () => {
  const lines = [...sampleArchive(Date.now())].map(line => JSON.parse(line) as Line)
  const earlier = Array.from({ length: 9 }, (_, index) => lines.flatMap(line => moved(line, index + 1))).flat()
  await using service = await startService([...lines, ...earlier], unlimited)
  const alex = await signInAs(service, 'alex')
  const { text } = await alex.get('/settings/page')
  assert.ok((tablesOf(text).get('Training sessions')?.rows.length ?? 0) > 2000)
  const megabytes = Buffer.byteLength(text) / 1024 ** 2
  assert.ok(megabytes < 3, `${megabytes.toFixed(2)} MB`)
})

test('the command writes the page of one account alone, to a file that only its owner can read', async () => {
  await using folder = await makeFolder()
  const lines = [...records.world, records.trainingSession(2, 1), records.trainingSession(3, 2)]
  writeFileSync(join(folder.path, 'all.ndjson'), lines.map(line => JSON.stringify(line)).join('\n'))
  await folder.run(['import', 'all.ndjson'])
  const { code, stdout } = await folder.run(['page', '--account', 'ann'])
  assert.equal(code, 0)
  assert.match(stdout, /<h1>Records of ann<\/h1>/)
  assert.equal(tablesOf(stdout).get('Training sessions')?.rows.length, 1)
  assert.equal((await folder.run(['page', '--account', 'ann', '--out', 'kept.html'])).code, 0)
  assert.equal(statSync(join(folder.path, 'kept.html')).mode & 0o777, 0o600)
  assert.equal((await folder.run(['page', '--account', 'nobody'])).code, 1)
})

interface Line {
  readonly kind: string
  readonly data: { readonly id: number; readonly isActive?: boolean }
}

/** A session some years before, with identifiers of its own. */
function moved(line: Line, years: number): object[] {
  if (line.kind !== 'training-session' && line.kind !== 'lock-session') return []
  if (line.data.isActive === true) return []
  const text = JSON.stringify(line)
    .replaceAll(/"id":(\d+)/g, (_, id: string) => `"id":${Number(id) + years * 1_000_000}`)
    .replaceAll(/"(\d{4}-\d\d-\d\dT[^"]*)"/g, (_, at: string) =>
      JSON.stringify(formatTimestamp(Date.parse(at) - years * 364 * DAY_MS)),
    )
    .replaceAll(/"(bubble_id|bubbleId|publicId)":"[^"]*"/g, '"$1":""')
  return [JSON.parse(text) as object]
}
