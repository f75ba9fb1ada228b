// engine: sqlite
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { bytesOf } from '../support/archives.ts'
import { signInAs } from '../support/dashboard.ts'
import { makeFolder } from '../support/command.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { decide, settledPage, upload } from '../support/uploads.ts'

const fileNamed = (name: string) => readFileSync(new URL(`../archive/formats/files/${name}`, import.meta.url), 'utf8')

/** What the page says under a heading, as words. */
function said(page: string): string {
  return page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
}

test('a preview shows sessions as they would be stored, what was converted, and asks whether a column is one of ours', async () => {
  await using service = await startService(world)
  const ann = await signInAs(service, 'ann')
  await upload(service.url, ann, { 'units.csv': fileNamed('units.csv') })
  const first = said(await settledPage(ann))
  for (const text of [
    /Training sessions Line 2: new Recorded .*18:00.* Passed yes .*Grade 80 Duration \(s\) 720 .*Distance \(m\) 500 /,
    /Converted Distance \(km\) to Distance \(m\): 1 value, such as 0\.5 → 500\./,
    /Columns that are not read: Reps\./,
    /Records that do not say whose they are will be stored as yours\./,
    /Read Reps as Repetitions/,
  ])
    assert.match(first, text)
  assert.match(first, /Repetitions 0 /)
  await decide(ann, 'check', { column: 'Reps=Repetitions' })
  const second = said(await settledPage(ann))
  assert.match(second, /Repetitions 40 /)
  assert.doesNotMatch(second, /not read/)
  await decide(ann, 'store')
  await settledPage(ann)
  const { text } = await service.fetch('/api/v1/dtt/sessions', 'ann')
  assert.match(text, /"durationMeasured":720,.*"repsMeasured":40,.*"distanceTravelled":500/)

  await upload(service.url, ann, { 'units.csv': fileNamed('units.csv').replace('80,40', '85,40') })
  const third = said(await settledPage(ann))
  assert.match(third, /Training sessions Line 2: changed Grade 80 → 85 /)
  assert.match(third, /cannot be brought back/)
})

test('the command says what it converted and did not read of a table, and reads a column by the title that it is given', async () => {
  await using folder = await makeFolder()
  writeFileSync(folder.file('people.ndjson'), bytesOf(world))
  await folder.run(['import', 'people.ndjson'])
  writeFileSync(folder.file('units.csv'), fileNamed('units.csv'))
  const args = ['import', 'units.csv', '--account', '1', '--column', 'Reps=Repetitions']
  const stored = await folder.run(args.slice(0, 4))
  assert.equal(stored.code, 0, stored.stderr)
  for (const text of [
    /columns that are not read: Reps\n/,
    /--column 'Reps=Repetitions' reads Reps as Repetitions\n/,
    /converted Duration \(min\) to Duration \(s\): 1, such as 12 to 720\n/,
  ])
    assert.match(stored.stderr, text)
  assert.equal((await folder.run([...args, '--on-conflict', 'replace'])).code, 0)
  assert.match((await folder.run(['export'])).stdout, /"repsMeasured":40,/)
  for (const [column, says] of [
    ['Reps', /must name both titles/],
    ['Reps=Push-ups', /no column is called Push-ups: there are Number, Recorded,/],
  ] as const) {
    const { code, stderr } = await folder.run([...args.slice(0, 5), column])
    assert.notEqual(code, 0)
    assert.match(stderr, says)
  }
})

test('a session that two files of an upload have is stored once', async () => {
  await using service = await startService(world)
  const ann = await signInAs(service, 'ann')
  const [first, second] = ['Recorded,Passed\n2026-02-16 18:00,yes\n', 'Passed;Recorded\nno;16.02.2026 18:00\n']
  await upload(service.url, ann, { 'a.csv': first ?? '', 'b.csv': second ?? '' })
  assert.match(
    said(await settledPage(ann)),
    /begins in the same minute as a row of another file: remove one of them 1 file 2: 2/,
  )
  await decide(ann, 'store')
  await settledPage(ann)
  const { text } = await service.fetch('/api/v1/dtt/sessions', 'ann')
  assert.equal(text.match(/"created_at"/g)?.length, 1)
})
