import type { Kysely } from 'kysely'
import { IsOptional, type Static, type TObject } from 'typebox'
import { Refusal } from '../contract/refusal.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { type Actor, type EventType, type NewEvent, OPERATOR, recordEvent } from './events.ts'
import { noteGrantChange } from './grants.ts'

/**
 * Acts: what people change by forms, and the operator by commands. The rules of an act, how it refuses and the event that it leaves
 * stand in one value. It is called as a function, which throws Refusal, and then changes nothing.
 */
export interface Act<Input = object, Result = unknown> extends ActFacts {
  (store: Store, input: Input, now: number, actor?: Actor): Promise<Result>
}

export interface ActFacts {
  /** In the words of the button of its form. */
  readonly title: string
  /** Whether a page asks for a proof of identity before it, unless there was one in the last ten minutes. */
  readonly confirms?: boolean
  readonly event: EventType
}

interface NewAct<Input extends TObject, Result, Prepared> extends ActFacts {
  /** The `description` of a property is the reason of its refusal. */
  readonly input: Input
  /** Whether its transaction holds the lock of imports: it removes records, or decides what imports do. */
  readonly locks?: boolean
  /** What takes long, and is done before its transaction begins. */
  readonly prepare?: (store: Store, input: Entered<Input>) => Promise<Prepared>
  readonly run: (scene: Scene, input: Entered<Input>, prepared: Prepared) => Promise<Result>
}

/** The transaction of an act. */
export interface Scene {
  readonly db: Kysely<Tables>
  readonly store: Store
  readonly now: number
  readonly record: (about: Pick<NewEvent, 'accountId' | 'subject' | 'subjectId'>, type?: EventType) => Promise<void>
}

type Entered<Input extends TObject> = {
  readonly [Name in keyof Static<Input>]: Static<Input>[Name] extends (infer Item)[]
    ? readonly Item[]
    : Static<Input>[Name]
}

export function act<const Input extends TObject, Result, Prepared = undefined>({
  input: schema,
  prepare,
  locks = false,
  run,
  ...facts
}: NewAct<Input, Result, Prepared>): Act<Entered<Input>, Result> {
  const perform = async (store: Store, input: Entered<Input>, now: number, actor = OPERATOR) => {
    await check(schema, input)
    // Without `prepare` there is nothing that `run` expects.
    const prepared = (await prepare?.(store, input)) as Prepared
    const work = (db: Kysely<Tables>) =>
      run({ db, store, now, record: recorder(db, facts.event, now, actor) }, input, prepared)
    const result = await (locks
      ? store.db.connection().execute(db => store.locked(db, () => work(db)))
      : store.db.transaction().execute(work))
    noteGrantChange()
    return result
  }
  return Object.assign(perform, facts)
}

export function recorder(db: Kysely<Tables>, event: EventType, now: number, actor: Actor): Scene['record'] {
  return (about, type = event) => recordEvent(db, { ...about, type, now, actor })
}

async function check({ properties }: TObject, input: object): Promise<void> {
  // Other commands start without it.
  const { Check } = await import('typebox/schema')
  for (const [field, property] of Object.entries(properties)) {
    const value: unknown = Reflect.get(input, field)
    if ((value === undefined && IsOptional(property)) || Check(property, value)) continue
    const reason = 'description' in property ? String(property.description) : `${field} is not valid`
    throw new Refusal('refused', reason)
  }
}
