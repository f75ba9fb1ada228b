// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ImportError, type ImportOptions, importLines } from '../../src/archive/import.ts'
import { readLines } from '../../src/archive/lines.ts'
import { previewImport, type PreviewOptions } from '../../src/archive/preview.ts'
import { kinds } from '../../src/archive/kinds.ts'
import { sampleFields, type SampleRow } from '../../src/archive/sample-rows.ts'
import { storedRows } from '../../src/archive/stored-rows.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { open, type Store } from '../../src/store/index.ts'
import { bytesOf, cut, type Line, openStore, type TestStore } from '../support/archives.ts'
import { account, lockDevice, lockSession, trainerSegment, trainingSession, world } from '../support/records.ts'

// Files whose lines repeat, contradict and lack what others have, of few accounts and records.

const owners = fc.integer({ min: 1, max: 4 })
const ids = fc.integer({ min: 1, max: 3 })
const names = fc.constantFrom('ann', 'ben', 'cas', 'dee')
const maybe = <Value>(value: Value) => fc.constantFrom(undefined, value)

const line: fc.Arbitrary<Line> = fc.oneof(
  fc
    .tuple(owners, names, maybe('Title'), maybe('ultra'))
    .map(([id, name, profileTitle, subscriptionTier]) => account(id, name, { profileTitle, subscriptionTier })),
  fc.tuple(owners, owners, maybe('2026-02-01T00:00:00Z')).map(([ownerId, partnerId, endedAt]) => ({
    kind: 'partnership',
    data: { ownerId, partnerId, ...(endedAt && { endedAt }) },
  })),
  fc
    .tuple(ids, owners, fc.constantFrom(0, 5), maybe('00:00'), maybe({ '/note': 1 }))
    .map(([id, owner, hueShift, macAddress, extra]) => ({ ...lockDevice(id, owner, { hueShift, macAddress }), extra })),
  fc
    .tuple(ids, owners, maybe(7), maybe('Name'))
    .map(([id, owner, templateId, name]) => lockSession(id, owner, { name }, { templateId })),
  fc
    .tuple(ids, owners, maybe(true), fc.constantFrom(80, 0, null), fc.constantFrom(true, true, null, 'yes'))
    .map(([id, owner, legacyUpload, percentGrade, passed]) =>
      trainingSession(id, owner, { passed, TrainerSegment: [trainerSegment(id, { percentGrade })] }, { legacyUpload }),
    ),
  fc.constant('{'),
)
const lines = fc.array(line, { maxLength: 12 })
const options: fc.Arbitrary<ImportOptions> = fc.record({
  onConflict: fc.constantFrom('fail', 'skip', 'replace'),
  tiers: fc.boolean(),
  isArchive: fc.boolean(),
})

/** Everything that a store has, without the times at which rejected rows were seen. */
async function contentOf({ store, export: exported }: TestStore) {
  const rejected = await store.db
    .selectFrom('set_aside')
    .select(['kind', 'record_id', 'owner_id', 'reason', 'raw'])
    .execute()
  return [await exported(), rejected.map(row => JSON.stringify(row)).toSorted()]
}

/** The fields of a sample, with what is stored in the end. */
async function storedAs({ store }: TestStore, given: readonly Line[], { kind: name, line, fields }: SampleRow) {
  const kind = kinds.find(one => one.name === name) ?? assert.fail(name)
  const { data } = given[line - 1] as { readonly data: { readonly id: number } }
  const [row] = (await storedRows(store.db, kind, [data])).values()
  const stored = sampleFields(kind, row ?? assert.fail(`${name} of line ${line}`), undefined)
  return fields.map(field => ({ ...field, value: stored.find(({ title }) => title === field.title)?.value ?? '' }))
}

/** The report, or the errors. */
async function outcomeOf(store: Store, given: readonly Line[], chosen: ImportOptions) {
  try {
    return await importLines(store, inLines(given), chosen)
  } catch (error) {
    assert.ok(error instanceof ImportError, String(error))
    return error.errors
  }
}

const inLines = (given: readonly Line[]) => () => readLines(cut(bytesOf(given), []))
const setAside = { onError: 'set-aside' } as const

test('a preview says of any file what storing it then does, and shows rows as they are then stored', async () => {
  const ofOne = fc.constantFrom(undefined, 1)
  await fc.assert(
    fc.asyncProperty(lines, lines, options, ofOne, async (before, given, chosen, onlyAccount) => {
      await using store = await openStore(world)
      await store.import(before, setAside)
      const untouched = await contentOf(store)
      const counted = { ...chosen, ...(onlyAccount === undefined ? {} : { onlyAccount }) }
      const preview = await previewImport(store.store, inLines(given), counted)
      assert.deepEqual(await contentOf(store), untouched)
      const report = await importLines(store.store, inLines(given), { ...counted, ...setAside })
      const stored = report.kinds.filter(kind => preview.kinds.some(one => one.kind === kind.kind))
      const shown = preview.kinds.map(({ first: _, last: __, changed, ...kind }) => ({ ...kind, replaced: changed }))
      assert.deepEqual(shown, stored)
      const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
      const stores = sum(report.kinds.map(kind => kind.added + kind.replaced + kind.skipped + kind.unchanged))
      assert.equal(stores, sum(stored.map(kind => kind.added + kind.replaced + kind.skipped + kind.unchanged)))
      assert.equal(preview.rejectedCount, report.setAside?.count)
      assert.deepEqual([preview.unfinished, preview.leftOut], [report.unfinished, report.leftOut])
      for (const sample of preview.samples) assert.deepEqual(await storedAs(store, given, sample), sample.fields)
    }),
    { numRuns: 30 },
  )
})

test('a file that others overtake while it is checked is stored like one that came after them', async () => {
  const removed = fc.constantFrom(undefined, undefined, 2)
  const onError = fc.constantFrom('set-aside' as const, 'fail' as const)
  const lists = fc.tuple(lines, lines, lines)
  await fc.assert(
    fc.asyncProperty(lists, options, onError, removed, async ([before, others, given], chosen, error, gone) => {
      await using overtaken = await openStore(world)
      await using after = await openStore(world)
      for (const store of [overtaken, after]) await store.import(before, { ...setAside, source: 'before' })
      const change = async (store: Store) => {
        const replacing = { ...setAside, onConflict: 'replace', tiers: true, source: 'others' } as const
        await importLines(store, inLines(others), replacing)
        if (gone !== undefined) await removeAccount(store, gone, 1)
      }
      await change(after.store)
      const other = await open(overtaken.url, { busyTimeoutMs: 60_000 })
      let hasChanged = false
      const store: Store = {
        ...overtaken.store,
        async locked(db, work) {
          await change(other)
          hasChanged = true
          return overtaken.store.locked(db, work)
        },
      }
      const found = await outcomeOf(store, given, { ...chosen, onError: error })
      await other.close()
      // A file with errors is refused before anything is locked.
      if (!hasChanged) return
      assert.deepEqual(found, await outcomeOf(after.store, given, { ...chosen, onError: error }))
      assert.deepEqual(await contentOf(overtaken), await contentOf(after))
    }),
    { numRuns: 40 },
  )
})

function preview({ store }: TestStore, lines: readonly Line[], options?: PreviewOptions) {
  return previewImport(store, () => readLines(cut(bytesOf(lines), [])), options)
}

test('for one account, an id that belongs to the record of another is refused, and the reason says nothing of it', async () => {
  await using store = await openStore([...world, lockDevice(5, 2), lockSession(6, 2)])
  const before = await store.export(2)
  const lines = [lockDevice(5, 1), lockSession(6, 1)]
  const { rejected } = await preview(store, lines, { onlyAccount: 1 })
  assert.deepEqual(
    rejected.map(({ reason, count }) => [reason, count]),
    [['cannot be stored here', 2]],
  )
  const { errors } = await store.refuse(lines, { onlyAccount: 1, onConflict: 'replace' })
  const reasons = errors.map(({ reason }) => reason)
  assert.deepEqual(reasons, ['cannot be stored here', 'cannot be stored here'])
  assert.equal(await store.export(2), before)
})
