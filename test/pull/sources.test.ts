// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleArchive } from '../../src/demo/sample.ts'
import { sourceLists } from '../../src/pull/lists.ts'
import { openStore, parseLines, withoutAsOf } from '../support/archives.ts'
import { startService, unlimited } from '../support/service.ts'
import { makeClock, pull } from '../support/sources/pulls.ts'
import { bareOptions, habitsOptions, SourceWorld, startSource } from '../support/sources/source-server.ts'

const today = Date.parse('2026-03-04T15:00:00Z')
/** With a third of its sessions, which are several pages. */
const sample = [...sampleArchive(today)].filter(
  (line, index) => !line.startsWith('{"kind":"training-session"') || index % 3 === 0,
)
const alex = 1

/** The records of a source with the sample, as it sends them. */
async function sampleWorld(): Promise<SourceWorld> {
  await using store = await openStore(sample)
  return new SourceWorld().add(...linesOf(await store.export()))
}

/** The lines of an export, parsed; fields beside the data that a source cannot tell are left out. */
function linesOf(archive: string, without: readonly string[] = []): any[] {
  const lines = parseLines(archive).slice(0, -1)
  for (const line of lines) for (const name of without) delete line[name]
  return lines
}

test('all records of an account are pulled from another service, and a second round finds nothing new', async () => {
  await using service = await startService(
    sample.map(line => JSON.parse(line)),
    unlimited,
  )
  await using here = await openStore()
  const token = await service.token('alex')
  const clock = makeClock(today)
  const report = await pull(here.store, service.url, { token, clock })
  assert.deepEqual([report.accountId, report.username, report.setAside.count], [alex, 'alex', 0])
  assert.ok(report.kinds.every(({ added, unchanged }) => added > 0 && unchanged <= 1))
  const accounts = report.kinds
    .filter(({ kind }) => kind === 'account')
    .map(({ added, unchanged }) => [added, unchanged])
  assert.deepEqual(accounts, [[1, 0]])
  await using there = await openStore(sample)
  assert.equal(withoutAsOf(await here.export(alex)), withoutAsOf(await there.export(alex)))

  const second = await pull(here.store, service.url, { token, clock })
  assert.ok(second.requests <= 12, `${second.requests} requests`)
  assert.equal(second.isFull, false)
  const news = second.kinds.filter(({ added, replaced, setAside }) => added + replaced + setAside > 0)
  assert.deepEqual(news, [])
})

test('everything is pulled that a source with only the basic paths sends', async () => {
  const world = await sampleWorld()
  await using source = await startSource(bareOptions(world))
  await using here = await openStore()
  const report = await pull(here.store, source.url, { account: String(alex), clock: makeClock(today) })
  const basic = ['lock templates', 'training sessions']
  assert.deepEqual(
    report.missingLists,
    sourceLists.map(({ title }) => title).filter(title => !basic.includes(title)),
  )
  await using there = await openStore(sample)
  const named = new Set([...world.of('training-session').values()].map(({ data }) => data['settings_id']))
  const expected = linesOf(await there.export(alex), ['asOf']).filter(
    ({ kind, data }) =>
      kind === 'lock-template' || kind === 'training-session' || (kind === 'training-template' && named.has(data.id)),
  )
  const pulled = linesOf(await here.export(alex), ['asOf']).filter(({ kind }) => kind !== 'account')
  assert.deepEqual(pulled, expected)
})

test('a source that behaves like the hosted service is pulled completely', async () => {
  const world = await sampleWorld()
  const clock = makeClock(today)
  await using source = await startSource({ ...habitsOptions(world), others: [2], now: clock.now })
  source.fault = (_path, index) =>
    index % 17 === 3 ? { status: 502 } : index % 19 === 4 ? 'cut' : index % 23 === 5 ? 'cut body' : undefined
  await using here = await openStore()
  const report = await pull(here.store, source.url, { clock, rate: 50 })
  assert.equal(report.setAside.count, 0)
  await using there = await openStore(sample)
  const expected = linesOf(await there.export(alex), ['asOf', 'templateId'])
  assert.deepEqual(linesOf(await here.export(alex), ['asOf', 'templateId']), expected)
})
