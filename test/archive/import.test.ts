// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { kinds } from '../../src/archive/kinds.ts'
import { MAX_LINE_BYTES, readLines } from '../../src/archive/lines.ts'
import { bytesOf, cut, openStore, type TestStore, totals, withoutAsOf } from '../support/archives.ts'
import { characters } from '../support/characters.ts'
import {
  account,
  lockDevice,
  lockSegment,
  lockSession,
  lockTemplate,
  partnership,
  pathOf,
  templateSegment,
  trainerSegment,
  trainingDevice,
  trainingSession,
  trainingTemplate,
  world,
} from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

const results = (...distances: unknown[]) =>
  distances.map((distanceTravelled, index) => trainerSegment(index + 1, { distanceTravelled }))

interface Sent {
  readonly kind: string
  readonly data: { readonly id: number }
}

/** Lines, and the fields they are shown with. Random records have the other normal forms. */
const normalised: readonly (readonly [promise: string, line: (id: number) => Sent, shown: object])[] = [
  [
    'small letters and zeros beyond milliseconds are taken',
    id => lockTemplate(id, 1, { createdAt: '2026-01-01t00:00:00.120000000z' }),
    { createdAt: '2026-01-01T00:00:00.120Z' },
  ],
  [
    'the first and the last instant that four digits can name are kept',
    id => trainingTemplate(id, 1, { createdDate: '0000-01-01T00:00:00Z', updatedAt: '9999-12-31T23:59:59.999Z' }),
    { createdDate: '0000-01-01T00:00:00Z', updatedAt: '9999-12-31T23:59:59.999Z' },
  ],
  [
    'bounds of a duration that is not random may be missing',
    id => lockTemplate(id, 1, { isRandomDuration: false, minDuration: undefined, maxDuration: undefined }),
    { minDuration: null, maxDuration: null },
  ],
  [
    'values that are not known today pass through open sets',
    id =>
      lockSession(id, 1, {
        lockState: 'melted',
        LockSegment: [lockSegment(1, 'thawed', '2026-01-01T00:00:00Z', true)],
      }),
    { lockState: 'melted', LockSegment: [lockSegment(1, 'thawed', '2026-01-01T00:00:00Z', true)] },
  ],
  [
    'the largest exact numbers are kept',
    id =>
      trainingTemplate(id, 1, {
        targetDepth: Number.MAX_SAFE_INTEGER,
        targetWindow: Number.MIN_SAFE_INTEGER,
        Segment: [templateSegment(1, { speed: 5e-324 })],
      }),
    {
      targetDepth: Number.MAX_SAFE_INTEGER,
      targetWindow: Number.MIN_SAFE_INTEGER,
      Segment: [templateSegment(1, { speed: 5e-324 })],
    },
  ],
]

test('values are normalised on their way in', async t => {
  const lines = normalised.map(([, line], index) => line(1001 + index))
  await using service = await startService([account(1, 'ann'), ...lines], unlimited)
  for (const [index, [promise, , shown]] of normalised.entries()) {
    await t.test(promise, async () => {
      const line = lines[index]
      const { body } = await service.fetch(`${pathOf[line?.kind ?? '']}/${line?.data.id}`, 'ann')
      for (const [field, value] of Object.entries(shown)) assert.deepEqual(body.data[field], value, field)
    })
  }
})

test('of duplicate keys the last wins, at every level', async () => {
  const session = JSON.stringify(trainingSession(5, 1).data).replace('{"id":50,', '{"id":49,"points":99,"id":50,')
  await using store = await openStore([
    account(1, 'ann'),
    account(2, 'ben'),
    `{"kind":"nothing","ownerId":2,"data":null,"kind":"training-session","data":${session.replace('{', '{"name":"first","id":4,')},"ownerId":1}`,
  ])
  assert.match(await store.export(1), /"id":5,"bubble_id":"session-5","name":"Session 5".*\[{"id":50,.*"points":12,/)
})

test('an unfinished session is counted and named, but not stored', async () => {
  await using store = await openStore(world)
  const before = await store.export()
  const report = await store.import([
    trainingSession(7, 1, { passed: null }),
    // What is not known yet may be missing.
    { kind: 'training-session', data: { id: 8, passed: null }, ownerId: 1 },
    '',
    trainingSession(7, 1, { passed: null }),
  ])
  const { unfinished, unfinishedCount } = report
  assert.deepEqual(unfinished, [
    { line: 1, kind: 'training-session', id: 7 },
    { line: 2, kind: 'training-session', id: 8 },
    { line: 4, kind: 'training-session', id: 7 },
  ])
  assert.equal(unfinishedCount, 3)
  assert.deepEqual(totals(report), { added: 0, replaced: 0, unchanged: 0, skipped: 3 })
  assert.equal(await store.export(), before)
})

test('unknown fields are kept, and their records counted by kind and name', async () => {
  await using store = await openStore(world)
  const { extra } = await store.import([
    account(1, 'ann', { shoeSize: 42, password: 'x' }),
    account(2, 'ben', { shoeSize: null }),
    partnership(1, 2),
    { kind: 'partnership', data: { ownerId: 2, partnerId: 1, since: { year: 2020 } } },
    { kind: 'account', data: { ...account(3, 'cas').data, 'not a plain/name~': 1, ü: 2, constructor: 3 } },
  ])
  assert.deepEqual(extra, [
    { kind: 'account', field: 'shoeSize', count: 2 },
    { kind: 'account', field: 'password', count: 1 },
    { kind: 'partnership', field: 'since', count: 1 },
    { kind: 'account', field: '(other)', count: 1 },
    { kind: 'account', field: 'constructor', count: 1 },
  ])
  const lines = (await store.export()).trim().split('\n').slice(0, -1)
  assert.deepEqual(
    lines.map(line => JSON.parse(line).extra),
    [
      { '/shoeSize': 42, '/password': 'x' },
      { '/shoeSize': null },
      { '/not a plain~1name~0': 1, '/ü': 2, '/constructor': 3 },
      undefined,
      { '/since': { year: 2020 } },
    ],
  )
})

test('newer extra fields replace the old ones, and a line without any keeps them', async () => {
  await using store = await openStore([...world, lockDevice(1, 1, { firmware: '3' })])
  const extraOf = async () => JSON.parse((await store.export(1)).trim().split('\n').at(-2) ?? '').extra
  const same = await store.import([lockDevice(1, 1)])
  assert.deepEqual(totals(same), { added: 0, replaced: 0, unchanged: 1, skipped: 0 })
  assert.deepEqual(await extraOf(), { '/firmware': '3' })
  const newer = await store.import([{ ...lockDevice(1, 1), extra: { '/firmware': '4' } }])
  assert.deepEqual(totals(newer), { added: 0, replaced: 0, unchanged: 1, skipped: 0 })
  assert.deepEqual(await extraOf(), { '/firmware': '4' })
})

test('extra fields beyond 64 KiB, or that are no pointers, are refused', async () => {
  await using store = await openStore(world)
  const { errors } = await store.refuse([
    lockDevice(1, 1, { firmware: 'x'.repeat(65_536) }),
    { ...lockDevice(2, 1), extra: { firmware: 1 } },
    { ...lockDevice(3, 1), extra: { '/a~2': 1 } },
    { ...lockDevice(4, 1), extra: [] },
  ])
  const pointers = 'extra must have RFC 6901 pointers into data as its keys'
  assert.deepEqual(errors, [
    { line: 1, reason: 'has more than 64 KiB of fields that are not part of a record' },
    { line: 2, reason: pointers },
    { line: 3, reason: pointers },
    { line: 4, reason: 'extra must be an object' },
  ])
})

test('odd values are converted, and their records counted by kind and rule', async () => {
  await using store = await openStore()
  const { leniencies, unfinished } = await store.import([
    account(1, 'ann', { subscriptionTier: 'gold' }),
    lockSession(1, 1, { startDate: '2026-02-01T00:00:00.123999Z', createdAt: '2026-02-01T00:00:00' }),
    lockSession(2, 1, { startDate: null }),
    trainingSession(3, 1, {
      settings_id: null,
      TrainerSegment: [
        trainerSegment(1, { percentGrade: null, repsMeasured: 2.5, points: -2.5 }),
        trainerSegment(2, { percentGrade: 120, distanceTravelled: null }),
      ],
    }),
    lockDevice(4, 1, { macAddress: undefined, lastVisited: undefined }),
  ])
  assert.deepEqual(leniencies, [
    { kind: 'account', rule: 'unknown-tier', count: 1 },
    { kind: 'lock-session', rule: 'beyond-milliseconds', count: 1 },
    { kind: 'lock-session', rule: 'no-zone', count: 1 },
    { kind: 'lock-session', rule: 'not-started', count: 1 },
    { kind: 'training-session', rule: 'null-number', count: 1 },
    { kind: 'training-session', rule: 'fraction', count: 1 },
    { kind: 'lock-device', rule: 'missing', count: 1 },
  ])
  assert.deepEqual(unfinished, [{ line: 3, kind: 'lock-session', id: 2 }])
  const exported = await store.export()
  assert.match(exported, /"subscriptionTier":"gold"/)
  assert.match(exported, /"startDate":"2026-02-01T00:00:00.123Z"/)
  assert.match(exported, /"settings_id":0,"TrainerSegment":\[{[^}]*"percentGrade":0,"points":-3,[^}]*"repsMeasured":3,/)
  assert.match(exported, /"percentGrade":120/)
  assert.match(exported, /"macAddress":"","ownerId":1,"locked":false,"hueShift":0,"lastVisited":null/)
  assert.match(
    exported,
    /"\/TrainerSegment\/0\/percentGrade":null,"\/TrainerSegment\/0\/points":-2.5,"\/TrainerSegment\/0\/repsMeasured":2.5/,
  )
})

test('segments whose grade was null are not graded, also after an export, and after a line that does not say', async () => {
  const graded = async ({ store }: TestStore) => {
    const { grade, kinds: results } = await store.db
      .selectFrom('training_session')
      .select(['grade', 'kinds'])
      .executeTakeFirstOrThrow()
    const [[, segments, , grades]] = JSON.parse(results)
    return [grade, segments - grades.length, grades]
  }
  const session = (grade: unknown) =>
    trainingSession(3, 1, {
      TrainerSegment: [trainerSegment(1, { percentGrade: grade, order: 1 }), trainerSegment(2, { order: 0 })],
    })
  await using store = await openStore([...world, session(null)])
  assert.deepEqual(await graded(store), [80, 1, [80]])
  await using copy = await openStore(Buffer.from(await store.export()))
  assert.deepEqual(await graded(copy), [80, 1, [80]])
  await copy.import([session(0)], { onConflict: 'replace' })
  assert.deepEqual(await graded(copy), [80, 1, [80]])
  await copy.import([session(60)], { onConflict: 'replace' })
  assert.deepEqual(await graded(copy), [70, 0, [60, 80]])
})

test('all errors of a line are reported at once', async () => {
  await using store = await openStore()
  const { errors, count } = await store.refuse([
    {
      ...trainingSession(1, 1, { name: 5, passed: 'yes', TrainerSegment: [trainerSegment(1, { id: null, type: 7 })] }),
      ownerId: 'me',
    },
  ])
  assert.deepEqual(errors, [
    {
      line: 1,
      reason:
        'ownerId must be an integer of 1 or more; name must be text; passed must be true or false; TrainerSegment[0].id must be an integer; TrainerSegment[0].type must be text',
    },
  ])
  assert.equal(count, 1)
})

/** A file with one record of every kind. */
const everyKind = [
  ...world,
  lockTemplate(1, 1),
  lockDevice(2, 1, { bubbleId: 'Gerät \u{1F512}' }),
  trainingDevice(3, 1),
  trainingTemplate(4, 1),
  lockSession(5, 1, {}, { templateId: 1 }),
  trainingSession(6, 1),
]
const text = bytesOf(everyKind).toString()

const sameFile: readonly (readonly [promise: string, bytes: Buffer])[] = [
  ['a byte-order mark at the start', Buffer.from(`\u{FEFF}${text}`)],
  ['a byte-order mark before a blank line', Buffer.from(`\u{FEFF}\n${text}`)],
  ['lines that end with CRLF', Buffer.from(text.replaceAll('\n', '\r\n'))],
  ['blank lines, and lines of spaces and tabs', Buffer.from(`\n\r\n${text.replaceAll('\n', '\n \t \n\n')}\n\n`)],
  ['no newline at the end', Buffer.from(text.slice(0, -1))],
  ['lines in the opposite order', bytesOf(everyKind.toReversed())],
]

test('a file is read the same with', async t => {
  await using expected = await openStore(everyKind)
  const records = await expected.export()
  for (const [promise, bytes] of sameFile) {
    await t.test(promise, async () => {
      await using store = await openStore(bytes)
      assert.equal(await store.export(), records)
    })
  }
})

test('lines do not depend on where the bytes are split, even inside a character', async () => {
  const piece = fc.oneof(
    fc.constantFrom('\r\n', '\n', '\n\n', '\r', ' ', '\u{FEFF}', '\0', 'ß', '€', '\u{1F512}', '{"a":1}'),
    fc.string({ unit: characters }),
  )
  const file = fc.oneof(
    fc.array(piece).map(pieces => Buffer.from(pieces.join(''))),
    fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(file, fc.array(fc.nat()), async (bytes, places) => {
      const whole = await Array.fromAsync(readLines(cut(bytes, [])))
      const cuts = places.map(place => place % (bytes.length + 1))
      const pieces = await Array.fromAsync(readLines(cut(bytes, cuts)))
      assert.deepEqual(pieces.flat(), whole.flat())
    }),
  )
})

test('a line may have exactly 1 MiB, without its end and a byte-order mark', async () => {
  const line = (length: number) => {
    const bare = JSON.stringify(lockTemplate(1, 1, { name: '' }))
    return JSON.stringify(lockTemplate(1, 1, { name: 'x'.repeat(length - bare.length) }))
  }
  for (const [start, end] of [
    ['', ''],
    ['', '\n'],
    ['\u{FEFF}', '\r\n'],
  ] as const) {
    await using store = await openStore(world)
    await store.import(Buffer.from(start + line(MAX_LINE_BYTES) + end))
    assert.ok((await store.export()).length > MAX_LINE_BYTES)
    const { errors } = await store.refuse(Buffer.from(start + line(MAX_LINE_BYTES + 1) + end))
    assert.deepEqual(errors, [{ line: 1, reason: 'is longer than 1 MiB' }])
  }
})

test('a line that is too long when it is written in full is refused', async () => {
  const short = JSON.stringify(trainerSegment(1, { speedMeasured: 1 })).replace(
    '"speedMeasured":1',
    '"speedMeasured":1e15',
  )
  const segments = Array.from({ length: Math.floor((MAX_LINE_BYTES - 1000) / (short.length + 1)) }, () => short).join()
  const session = JSON.stringify(trainingSession(1, 1, { TrainerSegment: 0 }))
  await using store = await openStore(world)
  const { errors } = await store.refuse([session.replace('"TrainerSegment":0', `"TrainerSegment":[${segments}]`)])
  assert.deepEqual(errors, [{ line: 1, reason: 'is longer than 1 MiB when it is written in full' }])
})

test('the same record twice in a file, or the same file twice, changes nothing', async () => {
  await using store = await openStore()
  const count = everyKind.length
  const twice = [...everyKind, ...everyKind.toReversed()]
  assert.deepEqual(totals(await store.import(twice)), { added: count, replaced: 0, unchanged: count, skipped: 0 })
  const before = await store.export()
  for (const onConflict of ['fail', 'skip', 'replace'] as const) {
    const report = await store.import(twice, { onConflict })
    assert.deepEqual(totals(report), { added: 0, replaced: 0, unchanged: 2 * count, skipped: 0 }, onConflict)
    assert.equal(await store.export(), before)
  }
})

/** The same record with other content; of a training session the owner and of a lock session the template count too. */
const changed: readonly (readonly [kind: string, stored: object, other: object])[] = [
  ['account that is renamed', account(9, 'ann9'), account(9, 'anna9')],
  ['lock-template', lockTemplate(9, 1), lockTemplate(9, 1, { name: 'New' })],
  ['lock-device of another owner', lockDevice(9, 1), lockDevice(9, 2)],
  ['training-template', trainingTemplate(9, 1), trainingTemplate(9, 1, { isActive: true, Segment: [] })],
  ['lock-session of another template', lockSession(9, 1), lockSession(9, 1, {}, { templateId: 1 })],
  ['training-session', trainingSession(9, 1), trainingSession(9, 1, { passed: false })],
  ['training-session of another owner', trainingSession(9, 1), trainingSession(9, 2)],
]

test('a record with other content than an earlier line is an error', async t => {
  for (const [kind, line, other] of changed) {
    await t.test(kind, async () => {
      await using store = await openStore(world)
      for (const onConflict of ['fail', 'skip', 'replace'] as const) {
        const { errors } = await store.refuse([line, other, line, ''], { onConflict })
        const reason = 'is the same record as an earlier line, with other content'
        assert.deepEqual(errors, [
          { line: 2, reason },
          { line: 3, reason },
        ])
      }
    })
  }
})

test('a record that is stored with other content is an error, stays, or is replaced, as asked', async t => {
  for (const [kind, line, other] of changed) {
    await t.test(kind, async () => {
      await using store = await openStore([...world, line])
      await using fresh = await openStore([...world, other])
      const before = await store.export()
      const { errors } = await store.refuse([lockTemplate(77, 1), other])
      const reason = 'is a record that the store has with other content (see --on-conflict)'
      assert.deepEqual(errors, [{ line: 2, reason }])

      const skipped = await store.import([other, other], { onConflict: 'skip' })
      assert.deepEqual(totals(skipped), { added: 0, replaced: 0, unchanged: 1, skipped: 1 })
      assert.equal(await store.export(), before)

      const replaced = await store.import([other, other], { onConflict: 'replace' })
      assert.deepEqual(totals(replaced), { added: 0, replaced: 1, unchanged: 1, skipped: 0 })
      // A former owner stays known up to what it had.
      assert.equal(withoutAsOf(await store.export()), withoutAsOf(await fresh.export()))
    })
  }
})

test('of concurrent imports that give the same records to different owners, one succeeds and the others are refused', async () => {
  await using store = await openStore(world)
  const ids = Array.from({ length: 1000 }, (_, index) => index + 1)
  const archives = [1, 2, 3].map(owner => ids.map(id => trainingDevice(id, owner)))
  const ended = await Promise.allSettled(archives.map(lines => store.import(lines)))
  assert.deepEqual(ended.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected'])
  const rows = await store.store.db.selectFrom('training_device').select('id').orderBy('id').execute()
  const stored = rows.map(({ id }) => id)
  assert.deepEqual(stored, ids)
})

test('derived columns are replaced together with their record', async () => {
  const before = [lockSession(1, 1), trainingSession(2, 1), trainingTemplate(3, 1)]
  const after = [
    lockSession(1, 2, { lockState: 'locked', isActive: true, startDate: '2026-05-01T00:00:00Z', endDate: null }),
    trainingSession(2, 2, { passed: false, created_at: '2026-05-01T00:00:00Z', TrainerSegment: [] }),
    trainingTemplate(3, 2, { isPublic: true, isActive: true, name: 'New', createdDate: '2026-05-01T00:00:00Z' }),
  ]
  await using replaced = await openStore([...world, ...before])
  await replaced.import(after, { onConflict: 'replace' })
  await using fresh = await openStore([...world, ...after])
  for (const { table } of kinds.filter(({ isOwned }) => isOwned)) {
    const rows = ({ store }: typeof fresh) =>
      store.db
        .selectFrom(table as 'account')
        .selectAll()
        .execute()
    assert.deepEqual(await rows(replaced), await rows(fresh), table)
  }
})

test('a password and API keys stay when an account is replaced', async () => {
  await using service = await startService([account(1, 'ann')])
  const token = await service.token('ann')
  await service.store.db.updateTable('account').set({ password_hash: 'hash' }).execute()
  await service.import([account(1, 'anna')], { onConflict: 'replace' })
  const row = await service.store.db.selectFrom('account').select('password_hash').executeTakeFirst()
  assert.equal(row?.password_hash, 'hash')
  const { body } = await service.fetch('/api/v1/me', token)
  assert.equal(body.data.account.username, 'anna')
})

const repeated = 'has the username of another account in this archive'
const taken =
  'has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name'

test('a username belongs to one account', async () => {
  await using store = await openStore(world)
  const table: readonly (readonly [archive: readonly object[], lines: readonly number[], reason: string])[] = [
    [[account(8, 'new'), account(9, 'new')], [1, 2], repeated],
    [[account(9, 'ann')], [1], taken],
    [[account(8, 'ok'), lockTemplate(1, 1), account(9, 'cas')], [3], taken],
  ]
  for (const onConflict of ['fail', 'skip', 'replace'] as const) {
    for (const [archive, lines, reason] of table) {
      const { errors } = await store.refuse(archive, { onConflict })
      assert.deepEqual(
        errors,
        lines.map(line => ({ line, reason })),
      )
    }
  }
  const { errors } = await store.refuse([account(1, 'ben')], { onConflict: 'replace' })
  assert.deepEqual(errors, [{ line: 1, reason: taken }])
  // Case makes a difference, and an account that is left alone takes no name.
  await store.import([account(8, 'Ann')])
  const report = await store.import([account(1, 'ben')], { onConflict: 'skip' })
  assert.deepEqual(totals(report), { added: 0, replaced: 0, unchanged: 0, skipped: 1 })
})

test('a username is text of 1 to 64 characters without control characters, and not all digits', async () => {
  await using store = await openStore(world)
  const length = 'username must be text of 1 to 64 characters without control characters'
  const refused: readonly (readonly [username: unknown, reason: string])[] = [
    ['4711', 'username must not be all digits'],
    ['', length],
    ['x'.repeat(65), length],
    ['a\nb', length],
    [null, length],
  ]
  for (const [username, reason] of refused) {
    const { errors } = await store.refuse([{ kind: 'account', data: { id: 9, username } }])
    assert.deepEqual(errors, [{ line: 1, reason }])
  }
  await store.import([
    account(10, '4711a'),
    account(11, '\u{1F512}'.repeat(64)),
    account(12, '-1'),
    account(13, '１２'),
  ])
})

const nobody = (field: string) =>
  `${field} is of no account in the file or here: add one with this id first (account add --id)`

/** Records that name the account 99, which nobody is. */
const orphans: readonly (readonly [kind: string, line: object])[] = [
  ['partnership, as owner', partnership(99, 1)],
  ['partnership, as partner', partnership(1, 99)],
  ['lock-template', lockTemplate(1, 99)],
  ['lock-device', lockDevice(1, 99)],
  ['training-device', trainingDevice(1, 99)],
  ['training-template', trainingTemplate(1, 99)],
  ['lock-session', lockSession(1, 99)],
  ['training-session', trainingSession(1, 99)],
]

test('a record must name an account that the archive or the store has', async t => {
  for (const [kind, line] of orphans) {
    await t.test(kind, async () => {
      await using store = await openStore([account(1, 'ann')])
      for (const onConflict of ['fail', 'skip', 'replace'] as const) {
        const reason = nobody(kind.endsWith('partner') ? 'partnerId' : 'ownerId')
        assert.deepEqual((await store.refuse([line], { onConflict })).errors, [{ line: 1, reason }])
      }
      // The account may come later in the file, or be there already.
      await store.import([line, account(99, 'new')])
      await using stored = await openStore([account(1, 'ann'), account(99, 'new')])
      await stored.import([line])
      assert.equal(await stored.export(), await store.export())
    })
  }
  await using empty = await openStore()
  assert.deepEqual((await empty.refuse([partnership(98, 99)])).errors, [
    { line: 1, reason: `${nobody('ownerId')}; ${nobody('partnerId')}` },
  ])
})

test('devices, settings and templates that a session names need not exist', async () => {
  await using store = await openStore(world)
  const report = await store.import([
    trainingSession(1, 1, { trainer_id: 4711, settings_id: 4712 }),
    trainingSession(2, 1, { trainer_id: 0, settings_id: -1 }),
    lockSession(3, 1, {}, { templateId: 4713 }),
    lockSession(4, 1, {}, { templateId: null }),
    trainingTemplate(5, 1, { toyId: 4714 }),
  ])
  assert.equal(totals(report).added, 5)
})

test('errors are listed by line: the first 100 of all, however they were found', async () => {
  await using store = await openStore([...world, lockTemplate(9999, 1)])
  const wrong = (index: number) =>
    [
      '{',
      lockTemplate(index, 99),
      lockTemplate(9999, 1, { name: `New ${index}` }),
      trainingSession(index, 99),
      account(1000 + index, 'ann'),
      { kind: 'nothing', data: {} },
    ][index % 6] ?? ''
  const archive = Array.from({ length: 300 }, (_, index) => [wrong(index), lockDevice(index + 1, 1)]).flat()
  const { errors, count } = await store.refuse(archive)
  const expected = Array.from({ length: 300 }, (_, index) => 2 * index + 1)
  assert.equal(count, 300)
  assert.deepEqual(
    errors.map(({ line }) => line),
    expected.slice(0, 100),
  )
})

test('values that cannot be summed exactly are refused, not rounded', async () => {
  await using store = await openStore(world)
  const { errors } = await store.refuse([
    trainingSession(1, 1, { TrainerSegment: results(5e9, 5e9) }),
    trainingSession(2, 1, {
      TrainerSegment: [1, 2].map(id => trainerSegment(id, { repsMeasured: Number.MAX_SAFE_INTEGER })),
    }),
  ])
  const tooLarge = 'must be from -9007199254740991 to 9007199254740991, because larger numbers are not exact in JSON'
  assert.deepEqual(errors, [
    { line: 1, reason: `distanceTravelled ${tooLarge}` },
    { line: 2, reason: `repsMeasured ${tooLarge}` },
  ])
})
