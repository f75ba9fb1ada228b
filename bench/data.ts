import { importArchive } from '../src/archive/import.ts'
import { seeded } from '../src/demo/random.ts'
import { open, type Store } from '../src/store/index.ts'
import { hashSecret, mintKey } from '../src/accounts/secrets.ts'
import { account, lockTemplate, trainerSegment, trainingSession } from '../test/support/records.ts'

/** The size of a benchmark's data: accounts with training sessions of 12 segments each and with lock templates. */
export interface DataSize {
  readonly accounts: number
  readonly sessions: number
  readonly templates: number
}

const SEGMENTS = 12

/** One more account has a year of heavy use. */
const HEAVY_SESSIONS = 2000

/** One request of a shape. */
export interface LoadRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** Fills an empty store and returns tokens of up to `tokens` accounts, by account id. Prints the import rate. */
export async function fill(url: string, size: DataSize, tokens: number): Promise<ReadonlyMap<number, string>> {
  const store = await open(url, { busyTimeoutMs: 60_000, bulk: true })
  const start = performance.now()
  // Several archives, because an import needs space for what it stages, too.
  for (let first = 1; first <= heavyAccount(size); first += ACCOUNTS_AT_ONCE) {
    const last = Math.min(first + ACCOUNTS_AT_ONCE - 1, heavyAccount(size))
    await importArchive(store, archive(size, first, last))
  }
  const seconds = (performance.now() - start) / 1000
  const records = size.accounts * (1 + size.sessions + size.templates)
  process.stdout.write(`filled ${records} records at ${Math.round(records / seconds)} a second\n`)
  const step = Math.max(1, Math.floor(size.accounts / tokens))
  const holders = Array.from({ length: Math.min(tokens, size.accounts) }, (_, index) => 1 + index * step)
  const made = await createTokens(store, [...holders, heavyAccount(size)])
  await store.close()
  return made
}

const ACCOUNTS_AT_ONCE = 50_000

/** A token for each account, by account id. Writes many in one statement, for which the program has no function. */
async function createTokens(store: Store, accountIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const made = new Map(accountIds.map(id => [id, mintKey()]))
  const common = { name: 'bench', scopes: 'lkbx:read dtt:read', created_at: Date.now(), expires_at: null }
  const rows = [...made].map(([account_id, token]) => {
    return {
      ...common,
      account_id,
      hash: hashSecret(token),
      last4: token.slice(-4),
      revoked_at: null,
      last_used_at: null,
    }
  })
  for (let start = 0; start < rows.length; start += KEYS_AT_ONCE) {
    await store.db
      .insertInto('token')
      .values(rows.slice(start, start + KEYS_AT_ONCE))
      .execute()
  }
  return made
}

const KEYS_AT_ONCE = 1000

/** Requests of each shape, distributed pseudorandomly over the accounts that have a token. */
export function requestsByShape(
  tokens: ReadonlyMap<number, string>,
  size: DataSize,
  count: number,
): Record<string, LoadRequest[]> {
  const random = seeded(1)
  const heavy = tokens.get(heavyAccount(size)) ?? ''
  const holders = [...tokens].filter(([id]) => id <= size.accounts)
  const pick = () => holders[random.whole(0, holders.length - 1)] ?? [1, '']
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  const make = (requestFor: (id: number, token: string) => LoadRequest) =>
    Array.from({ length: count }, () => {
      const [id, token] = pick()
      return requestFor(id, token)
    })
  const session = (id: number) =>
    `/api/v1/dtt/sessions/${(id - 1) * size.sessions + 1 + random.whole(0, size.sessions - 1)}`
  const page = () => make((_, token) => ({ path: '/api/v1/lkbx/templates', headers: bearer(token) }))
  return {
    'S1 one training session': make((id, token) => ({ path: session(id), headers: bearer(token) })),
    'S2 page of 50 lock templates': page(),
    'S3 unknown API key': make(id => ({ path: session(id), headers: bearer(mintKey()) })),
    'S4 one session, not modified': make((id, token) => ({ path: session(id), headers: bearer(token) })),
    'S5 page of 20 training sessions': make((_, token) => ({
      path: '/api/v1/dtt/sessions?limit=20',
      headers: bearer(token),
    })),
    'S6 `/status`': make((_, token) => ({ path: '/api/v1/status', headers: bearer(token) })),
    'S7 a year by weeks, 2,000 training sessions': make(() => ({ path: YEAR_BY_WEEKS, headers: bearer(heavy) })),
    'S8 page of 50, not modified': page(),
    [`S9 page of 50, ${COMMITS_PER_MINUTE} commits a minute`]: page(),
  }
}

/** The rate of commits during S9; each changes one template. */
export const COMMITS_PER_MINUTE = 200

const YEAR_BY_WEEKS = '/api/v1/dtt/stats?from=2025-01-01&to=2025-12-31&tz=Europe/Berlin'

function heavyAccount({ accounts }: DataSize): number {
  return accounts + 1
}

/** An archive of accounts with all their records. */
async function* archive(size: DataSize, first: number, last: number): AsyncGenerator<Buffer> {
  const { sessions, templates } = size
  const random = seeded(first + 1)
  const instant = () => new Date(Date.UTC(2025, 0, 1) + random.whole(0, 31_535_999) * 1000).toISOString()
  let lines = ''
  let segment = (first - 1) * sessions * SEGMENTS
  for (let id = first; id <= last; id += 1) {
    const isHeavy = id === heavyAccount(size)
    lines += `${JSON.stringify(account(id, `account-${id}`))}\n`
    for (let index = 1; index <= (isHeavy ? HEAVY_SESSIONS : sessions); index += 1) {
      const segments = Array.from({ length: SEGMENTS }, () =>
        trainerSegment((segment += 1), {
          percentGrade: random.whole(0, 100),
          distanceTravelled: random.whole(0, 19_999) / 1000,
        }),
      )
      const more = { created_at: instant(), TrainerSegment: segments }
      lines += `${JSON.stringify(trainingSession((id - 1) * sessions + index, id, more))}\n`
    }
    for (let index = 1; index <= templates; index += 1) {
      lines += `${JSON.stringify(lockTemplate((id - 1) * templates + index, id, { createdAt: instant() }))}\n`
    }
    if (lines.length > 256 * 1024) {
      yield Buffer.from(lines)
      lines = ''
    }
  }
  yield Buffer.from(lines)
}
