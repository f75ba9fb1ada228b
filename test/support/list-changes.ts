import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { sql } from 'kysely'
import { addAccount } from '../../src/accounts/accounts.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { endAccess } from '../../src/accounts/shared-access.ts'
import type { AccessTerms } from '../../src/accounts/access.ts'
import { importArchive } from '../../src/archive/import.ts'
import { noteChangedRecords } from '../../src/archive/revisions.ts'
import { giveAccess } from './sharing.ts'
import { lockDevice, lockTemplate, partnership, trainingSession } from './records.ts'
import { archiveOf, startService, type TestService, unlimited } from './service.ts'
import { until } from './waiting.ts'

export const day = (id: number) => ({ created_at: `2026-03-${String(1 + (id % 28)).padStart(2, '0')}T12:00:00Z` })

/** One of each that has lists. */
export const recordsOf = (id: number, owner: number, name = 'Name') => [
  trainingSession(id, owner, { name, ...day(id) }),
  lockTemplate(id, owner, { name }),
  lockDevice(id, owner, { bubbleId: name }),
]

export const lists = [
  '/api/v1/dtt/sessions',
  '/api/v1/dtt/sessions?limit=2',
  '/api/v1/dtt/sessions?limit=2&offset=2',
  '/api/v1/dtt/sessions?limit=2&cursor=',
  '/api/v1/dtt/sessions?include=owner&passed=true',
  '/api/v1/lkbx/templates?limit=3',
  '/api/v1/lkbx/templates?ownerId=1',
  '/api/v1/lkbx?limit=1&cursor=',
]

const records = ['/api/v1/dtt/sessions/2', '/api/v1/dtt/sessions/latest', '/api/v1/lkbx/templates/3']

/**
 * Reads lists and records while another process changes them in random ways. A validator must never stand for two different responses,
 * a 304 must mean that nothing changed, and every response must equal that of a service without a cache.
 */
export async function checkValidators(numRuns: number) {
  await using service = await startService([], unlimited)
  await using other = await startService([], unlimited, service)
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { minLength: 3, maxLength: numRuns === 1 ? 4 : 10 }), async sequence => {
      for (const id of [1, 2, 3]) await removeAccount(service.store, id, Date.now()).catch(() => {})
      for (const [id, username] of [
        [1, 'ann'],
        [2, 'ben'],
        [3, 'cas'],
      ] as const) {
        await addAccount(service.store, { id, username, tier: 'ultra' })
      }
      await service.import([partnership(1, 2), ...[1, 2, 3].flatMap(id => recordsOf(id, 1))])
      // A new one each time, because the accounts are new.
      const key = await service.token('ben')
      const seen = new Seen()
      const done = new AbortController()
      const read = async (path: string, etag: string | undefined) => {
        const answer = await service.fetch(path, key, etag === undefined ? {} : { 'If-None-Match': etag })
        if (answer.status === 403) return undefined
        seen.check(path, answer, etag)
        return answer
      }
      const reading = Promise.all(
        lists.map(async (path, index) => {
          let last: string | undefined
          for (let count = index; !done.signal.aborted; count += 1) {
            const answer = await read(path, count % 3 === 0 ? undefined : last)
            last = answer?.headers.get('ETag') ?? undefined
          }
        }),
      )
      reading.catch(() => {})
      try {
        for (const change of sequence) {
          const before = new Map<string, Awaited<ReturnType<typeof read>>>()
          for (const path of lists) before.set(path, await read(path, undefined))
          await apply(change, other)
          for (const path of lists) {
            const earlier = before.get(path)
            const shownAgain = async () => {
              const answer = await read(path, earlier?.headers.get('ETag') ?? undefined)
              return answer?.status === 304 ? earlier?.text : answer?.text
            }
            const answers = [await shownAgain()]
            const now = await read(path, undefined)
            // The service learns once, within a second, who has access: if between these two, then not between the last two.
            if (changesAccess.has(change.do)) answers.push(await shownAgain())
            assert.ok(answers.includes(now?.text), `${path} after ${change.do}: ${answers.join('\n')}\n${now?.text}`)
          }
          for (const path of [...lists, ...records]) {
            // Each service learns within a second who has access.
            await until(async () =>
              isDeepStrictEqual(shown(await service.fetch(path, key)), shown(await other.fetch(path, key))),
            )
          }
        }
      } finally {
        done.abort()
        await reading
      }
    }),
    { numRuns, endOnFailure: true },
  )
}

function shown({ status, headers, text }: Awaited<ReturnType<TestService['fetch']>>) {
  return [status, headers.get('ETag'), headers.get('Link'), status === 200 ? text : '']
}

/** What takes effect within a second. Changes of records take effect at once. */
const changesAccess: ReadonlySet<Change['do']> = new Set(['give', 'end', 'remove'])

/** What a writer can do, in another process. */
type Change =
  | { readonly do: 'store'; readonly id: number; readonly owner: number; readonly name: string }
  | { readonly do: 'give'; readonly from: number | null; readonly areas: AccessTerms['areas'] }
  | { readonly do: 'end' | 'remove' | 'fail' }

const changes: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('store' as const),
      id: fc.integer({ min: 1, max: 6 }),
      owner: fc.integer({ min: 1, max: 2 }),
      name: fc.constantFrom('One', 'Two'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('give' as const),
      from: fc.constantFrom(null, Date.UTC(2026, 2, 5)),
      areas: fc.constantFrom(['lkbx', 'dtt'] as const, ['dtt'] as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'remove' as const, 'fail' as const) }) },
)

async function apply(change: Change, { store, ...other }: TestService) {
  const pair = { ownerId: 1, partnerId: 2 }
  const now = Date.now()
  if (change.do === 'store') {
    await other.import(recordsOf(change.id, change.owner, change.name), { onConflict: 'replace' })
  } else if (change.do === 'give') {
    await giveAccess(store, pair, { areas: change.areas, recordsFrom: change.from }, now)
  } else if (change.do === 'end') await endAccess(store, pair, now).catch(() => {})
  else if (change.do === 'remove') {
    await removeAccount(store, 1, now)
    await addAccount(store, { id: 1, username: 'ann', tier: 'ultra' })
    await giveAccess(store, pair, {}, now)
  } else await failToImport(store)
}

/** An import that is stopped after some of it is stored, and undone. */
async function failToImport(store: TestService['store']) {
  const stop = new AbortController()
  const lines = Array.from({ length: 1200 }, (_, index) => lockTemplate(100 + index, 1 + (index % 2)))
  const work = importArchive(store, archiveOf([...lines, trainingSession(3, 2, { name: 'Stopped' })]), {
    onConflict: 'replace',
    signal: stop.signal,
  }).catch(() => {})
  const isStored = async () =>
    (await store.reads.selectFrom('lock_template').select('id').where('id', '>=', 100).executeTakeFirst()) !== undefined
  const settled = work.then(() => true)
  while (!(await Promise.race([settled, turn(false)])) && !(await isStored())) await turn()
  stop.abort(new Error('stopped'))
  await work
  // On PostgreSQL it may be complete.
  await store.db.transaction().execute(async db => {
    await db.deleteFrom('lock_template').where('id', '>=', 100).execute()
    await noteChangedRecords(db, 'lock_template', sql`select id from account`)
  })
}

/** The response that each validator stood for, whoever read it. */
export class Seen {
  readonly #texts = new Map<string, string>()

  check(path: string, answer: Awaited<ReturnType<TestService['fetch']>>, sent: string | undefined) {
    const etag = answer.headers.get('ETag') ?? ''
    const link = answer.headers.get('Link')
    const known = this.#texts.get(etag)
    if (answer.status === 304) {
      assert.equal(etag, sent, `${path}: a 304 has the validator that was sent`)
      assert.equal(known?.slice(known.lastIndexOf('\n')), `\n${link}`, `${path}: a 304 has the links of its 200`)
    } else {
      const shown = `${answer.text}\n${link}`
      assert.equal(known ?? shown, shown, `${path}: ${etag} stands for two responses`)
      this.#texts.set(etag, shown)
    }
  }
}
