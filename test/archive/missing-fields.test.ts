// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openStore, parseLines } from '../support/archives.ts'
import { schemas } from '../support/arbitraries.ts'
import { lockSession, trainerSegment, trainingSession, trainingTemplate, world } from '../support/records.ts'

const docs = readFileSync(new URL('../../docs/archive.md', import.meta.url), 'utf8')
/** The line of each kind in the docs, which has every field. */
const lines = parseLines(/```json\n([^]*?)```/.exec(docs)?.[1] ?? '')
/** What the docs say may be missing, by kind. */
const documented = new Map(
  [...docs.matchAll(/^\| `([a-z-]+)` \| (`\w+`(?:, `\w+`)*) \|$/gm)].map(([, kind, names = '']) => [
    kind,
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  ]),
)

test('a record may lack what the docs list, and is refused without any other field', async () => {
  for (const [kind, { properties }] of Object.entries(schemas)) {
    const line = lines.find(one => one.kind === kind)
    const optional: string[] = []
    for (const field of Object.keys(properties))
      assert.ok(field in line.data, `docs/archive.md: the JSON line of ${kind} has no ${field}`)
    await using store = await openStore(kind === 'account' ? [] : world)
    for (const field of Object.keys(line.data)) {
      const { [field]: _, ...data } = line.data
      try {
        await store.import([{ ...line, data }], { onConflict: 'replace' })
        optional.push(field)
      } catch (error) {
        const { errors } = error as { errors: { reason: string }[] }
        assert.match(errors[0]?.reason ?? '', new RegExp(`^${field} is (missing|required)`))
      }
    }
    assert.deepEqual(documented.get(kind) ?? [], optional, kind)
  }
})

test('a later record fills the gap, and one that lacks the field again leaves what is stored', async () => {
  await using store = await openStore(world)
  const records = [
    lockSession(1, 1, {}, { templateId: 4 }),
    trainingSession(1, 1, { TrainerSegment: [trainerSegment(1, { repsMeasured: 19.5, percentGrade: null })] }),
    trainingTemplate(1, 1),
  ] as any[]
  const withheld = records.map(({ data, ...line }) => ({
    ...line,
    data: { ...data, bubbleId: undefined, bubble_id: undefined, publicId: undefined, tagline: undefined },
  }))
  await store.import(withheld)
  assert.match(await store.export(), /"bubble_?[iI]d":""/)
  await store.import(records, { onConflict: 'replace' })
  const whole = await store.export()
  assert.doesNotMatch(whole, /"bubble_?[iI]d":""/)
  const columns = () => store.store.db.selectFrom('training_session').selectAll().execute()
  const before = await columns()
  const { kinds } = await store.import(withheld, { onConflict: 'fail' })
  assert.equal(await store.export(), whole)
  assert.ok(kinds.every(({ added, replaced }) => added + replaced === 0))
  assert.deepEqual(await columns(), before)
  assert.match(
    String((await store.store.db.selectFrom('training_template').select('summary').execute())[0]?.summary),
    /One line/,
  )
})

test('an id of a device that is no number, and a count in halves, keep their exact value as extra fields', async () => {
  await using store = await openStore(world)
  const segments = [trainerSegment(1, { repsMeasured: 19.5 }), trainerSegment(2, { percentGrade: 0.4 })]
  await store.import([
    trainingTemplate(1, 1, { toyId: 'device-7' }),
    trainingSession(1, 1, { repsMeasured: 38.5, TrainerSegment: segments }),
  ])
  const exported = await store.export()
  assert.match(exported, /"toyId":null.*"extra":{"\/toyId":"device-7"}/)
  assert.match(exported, /"repsMeasured":20.*"repsMeasured":39.*"\/TrainerSegment\/0\/repsMeasured":19.5/)
  assert.match(exported, /"\/repsMeasured":38.5/)
  // A grade that was rounded to 0 is a grade.
  assert.equal((await store.store.db.selectFrom('training_session').select('grade').execute())[0]?.grade, 40)
  await using copy = await openStore(Buffer.from(exported))
  assert.equal(await copy.export(), exported)
})
