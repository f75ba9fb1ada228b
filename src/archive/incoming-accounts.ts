import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../store/tables.ts'
import { account } from './account-kinds.ts'
import type { DecideOptions, KnownAccounts } from './decide.ts'
import type { Cell } from './kind.ts'

interface Options extends Pick<DecideOptions, 'onConflict'> {
  readonly db: Kysely<Tables>
  readonly setsAside: boolean
}

/** What the table `incoming` and the store say about accounts. */
export class IncomingAccounts implements KnownAccounts {
  readonly #options: Options
  readonly #states = new Map<Cell | undefined, 'removed' | 'known' | 'unknown'>()

  constructor(options: Options) {
    this.#options = options
  }

  isRemoved(id: Cell | undefined): boolean {
    return this.#states.get(id) === 'removed'
  }

  isKnown(id: Cell | undefined): boolean {
    return this.#states.get(id) === 'known'
  }

  /** Looks for accounts. What was found before stays known, until `forget`. */
  async look(ids: readonly Cell[]) {
    const { db } = this.#options
    const wanted = [...new Set(ids)].filter(id => !this.#states.has(id))
    if (wanted.length === 0) return
    if (this.#states.size > MAX_STATES) return this.#lookAgain(ids)
    const found = async (from: RawBuilder<unknown>) => {
      const { rows } = await sql<{ id: number }>`select id ${from} and id in (${sql.join(wanted)})`.execute(db)
      return rows.map(({ id }) => id)
    }
    const staged = sql.raw(`from incoming where kind = '${account.name}' and ${this.#isCounted('incoming')}`)
    const known = new Set([...(await found(sql`from account where 1 = 1`)), ...(await found(staged))])
    const removed = new Set(await found(sql`from removed_account where 1 = 1`))
    for (const id of wanted) {
      this.#states.set(id, removed.has(Number(id)) ? 'removed' : known.has(Number(id)) ? 'known' : 'unknown')
    }
  }

  forget() {
    this.#states.clear()
  }

  #lookAgain(ids: readonly Cell[]): Promise<void> {
    this.forget()
    return this.look(ids)
  }

  /** Refuses accounts whose usernames others have, in the file or in the store. */
  async refuseNames() {
    const { setsAside, onConflict } = this.#options
    await this.#refuse(
      'has the username of another account in this archive',
      `${this.#isCounted('incoming')} and exists (select 1 from incoming as someone
        where someone.name = incoming.name and someone.id <> incoming.id and ${this.#isCounted('someone')})`,
    )
    const keepsName =
      onConflict === 'replace'
        ? `not exists (select 1 from incoming as renamed
            where renamed.kind = '${account.name}' and renamed.id = someone.id and ${this.#isCounted('renamed')})`
        : 'not exists (select 1 from account as stored where stored.id = incoming.id)'
    const isTaken = `${this.#isCounted('incoming')} and exists (select 1 from account as someone
      where someone.username = incoming.name and someone.id <> incoming.id and ${keepsName})`
    // An account that is refused keeps its name, which another one may want.
    for (let isMore = true; isMore;) isMore = (await this.#refuse(NAME_TAKEN, isTaken)) > 0n && setsAside
    this.forget()
  }

  /** Whether an account will be stored. Where one line that cannot be stored refuses the file, it causes no further errors. */
  #isCounted(row: string): string {
    return `${row}.decided not in ('repeated', 'contradicts'${this.#options.setsAside ? `, 'refused'` : ''})`
  }

  async #refuse(reason: string, condition: string): Promise<bigint> {
    const { numAffectedRows = 0n } = await sql`update incoming
      set decided = 'refused', reasons = coalesce(reasons || ${'\n'}, '') || cast(${reason} as text)
      where name is not null and ${sql.raw(condition)}`.execute(this.#options.db)
    return numAffectedRows
  }
}

const MAX_STATES = 10_000

const NAME_TAKEN =
  'has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name'
