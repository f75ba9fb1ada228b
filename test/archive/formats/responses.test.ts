// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { exportArchive } from '../../../src/archive/export.ts'
import type { SourceLine } from '../../support/arbitraries.ts'
import { importFile, readFileOf, openStore } from '../../support/archives.ts'
import { sampleService } from '../../support/dashboard.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  oneOfEach,
  trainingSession,
  world,
} from '../../support/records.ts'
import { unlimited, type TestService } from '../../support/service.ts'

/** The responses that hold all records of Alex, by their paths. */
async function savedResponses(service: TestService): Promise<Map<string, string>> {
  const token = await service.token('alex')
  const saved = new Map<string, string>()
  const save = async (path: string) => {
    const { status, text, body } = await service.fetch(`/api/v1${path}`, token)
    assert.equal(status, 200, path)
    saved.set(path, text)
    return body
  }
  for (const path of [
    '/lkbx?',
    '/dtt?',
    '/lkbx/templates?',
    '/lkbx/sessions?include=template&',
    '/dtt/sessions?include=owner&',
  ]) {
    for (let cursor: string | null = ''; cursor !== null;) {
      const { data } = await save(`${path}ownerId=1&limit=100&cursor=${cursor}`)
      cursor = data.pagination.nextCursor
    }
  }
  const programs = await service.store.db
    .selectFrom('training_template')
    .select('id')
    .where('owner_id', '=', 1)
    .execute()
  for (const { id } of programs) await save(`/dtt/templates/${id}`)
  return saved
}

/** The records of an export of one account, without the line of the account. */
const recordsOf = (text: string) => text.split('\n').filter(line => !/"kind":"(account|end)"/.test(line))

test('saved responses of this API hold the records that they came from, in every form and order', async t => {
  await using service = await sampleService(unlimited)
  const saved = await savedResponses(service)
  await using original = await openStore()
  let text = ''
  await exportArchive(service.store, async part => void (text += part), 1)
  await original.import(Buffer.from(text))

  const itemsOf = (path: string, response: string) => {
    const { data } = JSON.parse(response) as { data: { data?: unknown[] } }
    return path.includes('?') ? (data.data ?? []) : [data]
  }
  const forms: Record<string, (path: string, response: string) => string> = {
    'as they were sent': (_, response) => response,
    'as bare arrays': (path, response) => JSON.stringify(itemsOf(path, response), null, 1),
    'with pagination first': (path, response) => {
      const { data } = JSON.parse(response) as { data: { data: unknown; pagination: unknown } }
      return path.includes('?') ? JSON.stringify({ pagination: data.pagination, data: data.data }) : response
    },
  }
  for (const [name, form] of Object.entries(forms)) {
    await t.test(name, async () => {
      await using copy = await openStore([account(1, 'alex')])
      for (const [path, response] of saved) await importFile(copy, form(path, response))
      assert.deepEqual(recordsOf(await copy.export(1)), recordsOf(await original.export(1)))
      for (const [path, response] of saved) {
        const { kinds } = await importFile(copy, form(path, response))
        assert.ok(
          kinds.every(({ added, replaced }) => added + replaced === 0),
          path,
        )
      }
    })
  }
})

test('every kind of record is recognised by its fields', async () => {
  await using store = await openStore(world)
  for (const line of [account(1, 'ann'), ...oneOfEach(7, 1)] as SourceLine[]) {
    const owner = 'ownerId' in line ? { ownerId: line['ownerId'] } : {}
    const { kinds } = await importFile(store, JSON.stringify({ ok: true, data: { ...line.data, ...owner } }))
    const found = kinds.filter(({ added, replaced, unchanged }) => added + replaced + unchanged > 0)
    assert.deepEqual(
      found.map(({ kind }) => kind),
      [line.kind],
    )
  }
})

test('records that name their owner are not stored under another account', async () => {
  await using store = await openStore(world)
  const session = (id: number, owner: unknown) => ({ ...trainingSession(id, 1).data, owner })
  const owned = JSON.stringify([session(3, 2), session(4, { id: 2, username: 'ben' }), session(5, null)])
  await importFile(store, owned, { account: 1 })
  const { rows } = await sql`select id, owner_id from training_session order by id`.execute(store.store.db)
  assert.deepEqual(
    rows.map(row => Object.values(row as object).map(Number)),
    [
      [3, 2],
      [4, 2],
      [5, 1],
    ],
  )
  await assert.rejects(importFile(store, JSON.stringify([session(6, 'ben')]), { account: 1 }), ({ errors }) => {
    assert.deepEqual(errors, [{ line: 1, reason: 'ownerId must be an integer of 1 or more' }])
    return true
  })
})

test('a record that lacks most fields is of the kind of the records before it', async () => {
  await using store = await openStore(world)
  const devices = [lockDevice(1, 1).data, { id: 2, ownerId: 1, locked: true }, { id: 3, ownerId: 1 }]
  await assert.rejects(importFile(store, JSON.stringify(devices)), {
    errors: [{ line: 3, reason: 'locked is missing' }],
  })
})

test('a saved response keeps what it does not say of a stored record', async () => {
  await using store = await openStore([...world, lockTemplate(9, 1), lockSession(1, 1, {}, { templateId: 9 })])
  const before = await store.export()
  await importFile(store, JSON.stringify({ ok: true, data: lockSession(1, 1).data }))
  assert.equal(await store.export(), before)
})

test('what is wrong in a saved response is said, never with a value', async () => {
  await using store = await openStore(world)
  const good = JSON.stringify(lockTemplate(1, 1).data)
  await assert.rejects(importFile(store, `[${good},"SECRET"]`), {
    errors: [{ line: 2, reason: 'must be an object with kind and data' }],
  })
  const unread = 'this JSON cannot be read, perhaps because its end is missing: download it again'
  const cases: readonly [content: string | Buffer, message: string][] = [
    [`{"ok":true,"data":{"data":[${good},{"id":2`, unread],
    [`[${good},{"id":"SECRET`, unread],
    [`[${good},{SECRET},${good}]`, unread],
    [`[${good}]\nSECRET\n`, unread],
    [
      Buffer.concat([Buffer.from(`[${good},{"a":"`), Buffer.from([0xff]), Buffer.from('"}]')]),
      'this is text in another encoding: save it as CSV UTF-8',
    ],
    [
      `[${good},{"name":"${'x'.repeat(17_000_000)}"}]`,
      'this is a saved response of more than 16 MiB: save its records in several files',
    ],
    [
      '{"ok":false,"error":"SECRET","code":"x"}',
      'this is an error that the API sent, and not a response with records: ask for them again, and save that',
    ],
  ]
  for (const [content, message] of cases) {
    await assert.rejects(importFile(store, content), { name: 'FormatError', message })
  }
})

test('empty lists and responses without a record hold nothing, and are no error', async () => {
  for (const text of ['[]', '{"ok":true,"data":null}', '{"ok":true,"data":{"data":[],"pagination":{}}}']) {
    const lines = []
    for (const line of (await readFileOf(text)).lines) lines.push(line)
    assert.deepEqual(lines, [], text)
  }
})
