import assert from 'node:assert/strict'
import fc from 'fast-check'
import { sql } from 'kysely'
import { DAY_MS } from '../../../src/contract/time.ts'
import type { Store } from '../../../src/store/index.ts'
import { openStore } from '../archives.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../records.ts'
import { SourceWorld } from './source-server.ts'

/** A source that changes, and what a store must have in the end. */

const ME = 1
export const OTHER = 2

const start = Date.parse('2026-03-01T12:00:00Z')

export type Change =
  | {
      readonly does: 'add'
      readonly kind: Kind
      readonly ageHours: number
      readonly isMine: boolean
      readonly isOpen: boolean
    }
  | { readonly does: 'edit' | 'remove'; readonly pick: number }

type Kind = keyof typeof makers

const makers = {
  'lock-template': (id: number, owner: number, at: string, _isOpen: boolean, name: string) =>
    lockTemplate(id, owner, { name, createdAt: at }),
  'training-template': (id: number, owner: number, at: string, _isOpen: boolean, name: string) =>
    trainingTemplate(id, owner, { name, createdDate: at, updatedAt: at }),
  'lock-session': (id: number, owner: number, at: string, isOpen: boolean, name: string) =>
    lockSession(id, owner, { name, startDate: at, isActive: isOpen, lockState: isOpen ? 'locked' : 'completed' }),
  'training-session': (id: number, owner: number, at: string, isOpen: boolean, name: string) =>
    trainingSession(id, owner, { name, created_at: at, passed: isOpen ? null : true, trainer_id: owner }),
}

type MakerArguments = [id: number, owner: number, at: string, isOpen: boolean, name: string]

const kinds = Object.keys(makers) as Kind[]

export const changes: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('add' as const),
      kind: fc.constantFrom(...kinds),
      // Most are new, some have been away for long.
      ageHours: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3000 })),
      isMine: fc.boolean(),
      isOpen: fc.boolean(),
    }),
  },
  fc.record({ does: fc.constantFrom('edit' as const, 'remove' as const), pick: fc.nat() }),
)

/** A source with a history of changes. */
export class ModelSource {
  readonly world = new SourceWorld().add(account(ME, 'ann'), account(OTHER, 'ben'))
  readonly removed = new Set<string>()
  /** What the records are made of, by kind and id. */
  readonly #made = new Map<
    string,
    Parameters<(typeof makers)[Kind]> extends infer Args ? { kind: Kind; args: Args } : never
  >()
  #nextId = 1
  #edits = 0
  now = start

  constructor(rows: number) {
    this.world.add(trainingDevice(ME, ME), trainingDevice(OTHER, OTHER), lockDevice(1, ME))
    for (let row = 0; row < rows; row += 1) {
      for (const kind of kinds) {
        this.apply({ does: 'add', kind, ageHours: 24 * (rows - row), isMine: row % 3 > 0, isOpen: false })
      }
    }
  }

  apply(change: Change) {
    if (change.does === 'add') {
      const id = this.#nextId++
      const at = new Date(this.now - change.ageHours * 3_600_000).toISOString().replace('.000Z', 'Z')
      const owner = change.isMine ? ME : OTHER
      this.#put(change.kind, [id, owner, at, change.isOpen, `First name of ${id}`])
      return
    }
    const all = [...this.#made.values()]
    const picked = all[change.pick % Math.max(all.length, 1)]
    if (picked === undefined) return
    const { kind, args } = picked
    const [id, owner, at] = args
    if (change.does === 'remove') {
      this.world.remove(kind, id)
      this.#made.delete(`${kind} ${id}`)
      this.removed.add(`${kind} ${id}`)
    } else this.#put(kind, [id, owner, at, false, `Name ${(this.#edits += 1)} of ${id}`])
  }

  #put(kind: Kind, args: MakerArguments) {
    this.world.add(makers[kind](...args))
    this.#made.set(`${kind} ${args[0]}`, { kind, args })
  }

  /** The lines of an export that has all of the source's own records that can be stored. */
  async expected(): Promise<Map<string, string>> {
    const lines: object[] = []
    for (const kind of ['lock-device', 'training-device', ...kinds]) {
      for (const { data, ownerId } of this.world.of(kind).values()) {
        if (ownerId === ME) lines.push(kind === 'training-session' ? { kind, data, ownerId } : { kind, data })
      }
    }
    await using store = await openStore([account(ME, 'ann'), ...lines])
    return byRecord(await store.export(ME))
  }
}

/**
 * Throws unless the store has everything that the source has, but for what it names itself as rejected, and otherwise only what was removed
 * there. Returns that.
 */
export async function checkStore(
  archive: string,
  source: ModelSource,
  rejected: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const stored = byRecord(archive)
  const expected = await source.expected()
  const extra: string[] = []
  for (const [name, line] of stored) {
    if (rejected.has(name)) continue
    if (expected.has(name)) assert.equal(line, expected.get(name))
    else {
      assert.ok(source.removed.has(name), `${name} is stored, but the source never had it`)
      extra.push(name)
    }
  }
  for (const name of expected.keys()) assert.ok(stored.has(name) || rejected.has(name), `${name} is missing`)
  return extra
}

/** The rows that the store calls gone, as kind and id. */
export async function goneRows({ db }: Store): Promise<string[]> {
  const { rows } = await sql<{ kind: string; id: number }>`
    select kind, id from pull_row where gone_at is not null order by kind, id`.execute(db)
  return rows.map(({ kind, id }) => `${kind} ${id}`)
}

/** Throws if a row is called gone that the source has. */
export async function checkGone(store: Store, source: ModelSource) {
  for (const name of await goneRows(store)) assert.ok(source.removed.has(name), `${name} is called gone`)
}

export const MORE_THAN_A_DAY = DAY_MS + 1

function byRecord(archive: string): Map<string, string> {
  return new Map(
    archive
      .split('\n')
      .filter(line => line !== '' && !/^{"kind":"(account|end)"/.test(line))
      .map(line => {
        const { kind, data } = JSON.parse(line)
        return [`${kind} ${data.id}`, line]
      }),
  )
}
