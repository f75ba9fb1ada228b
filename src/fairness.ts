import pLimit, { type LimitFunction } from 'p-limit'

/**
 * Shares the event loop of this process. A checked request of an account is begun at once while a turn of the loop is young; then one of
 * each account in a turn. Long work, such as statistics, pauses when all of it together has used `LONG_WORK_MS` of a turn. Node accepts one
 * connection in a turn: while many come, one request of each address is begun in a turn, or the last of them would wait for all the others.
 */
const requests = new Map<number, (() => void)[]>()
const longWork: (() => void)[] = []
const arrivals = new Map<string, (() => void)[]>()

/** When the work of this turn began; undefined before that. */
let turnStart: number | undefined
let turns = 0
let isAccepting = false
/** Addresses that opened more connections in this turn than they may have: their requests wait for most turns. */
const excessive = new Set<string>()

/** Waits until a request of the account may begin; undefined if it need not wait. */
export function share(account: number): Promise<void> | undefined {
  if (!requests.has(account) && elapsed() < YOUNG_MS) return undefined
  return new Promise(resolve => void requests.getOrInsertComputed(account, () => []).push(resolve))
}

/** Begins a request, at once unless others connect. */
export function arrive(addressOf: () => string, begin: () => void) {
  if (!isAccepting && arrivals.size === 0) begin()
  else arrivals.getOrInsertComputed(addressOf(), () => []).push(begin)
}

export function noteConnection(address: string, isRefused: boolean) {
  elapsed()
  isAccepting = true
  if (isRefused) excessive.add(address)
}

/** Waits until long work may go on; undefined if it need not wait. Called between pieces that take less than a millisecond. */
export function pause(): Promise<void> | undefined {
  return elapsed() < LONG_WORK_MS ? undefined : new Promise(resolve => void longWork.push(resolve))
}

/** Handles each item, and pauses between them. */
export async function forEachPausing<Item>(items: readonly Item[], handle: (item: Item) => void) {
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_IN_PIECE === 0) await pause()
    handle(item)
  }
}

function elapsed(): number {
  const now = performance.now()
  if (turnStart === undefined) {
    turnStart = now
    setImmediate(nextTurn)
  }
  return now - turnStart
}

function nextTurn() {
  turnStart = undefined
  turns += 1
  if (requests.size > 0 || longWork.length > 0 || arrivals.size > 0) elapsed()
  for (const [address, waiting] of arrivals) {
    if (excessive.has(address) && turns % EXCESSIVE_TURNS > 0) continue
    for (const begin of waiting.splice(0, isAccepting ? 1 : Infinity)) begin()
    if (waiting.length === 0) arrivals.delete(address)
  }
  isAccepting = false
  excessive.clear()
  for (const [account, [begin, ...others]] of requests) {
    if (others.length === 0) requests.delete(account)
    else requests.set(account, others)
    begin?.()
  }
  longWork.shift()?.()
}

const YOUNG_MS = 5
const LONG_WORK_MS = 2
const EXCESSIVE_TURNS = 8
const ITEMS_IN_PIECE = 200

const slots = new Map<number, { readonly limit: LimitFunction; users: number }>()

/** Does work of an account, of which so much is done at the same time; the rest waits, the oldest first. */
export async function inSlot<Result>(account: number, most: number, work: () => Promise<Result>): Promise<Result> {
  const slot = slots.getOrInsertComputed(account, () => ({ limit: pLimit(most), users: 0 }))
  slot.users += 1
  try {
    return await slot.limit(work)
  } finally {
    slot.users -= 1
    if (slot.users === 0) slots.delete(account)
  }
}

/** How busy this process is. */
export class Load {
  /** Requests that have arrived and are not answered. */
  inWork = 0
  #lastTick = performance.now()
  readonly #limitMs: number
  readonly #timer = setInterval(() => {
    this.#lastTick = performance.now()
  }, TICK_MS).unref()

  /** Notices by a timer when the event loop is more than `limitMs` late; 0 never refuses. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** Whether a request that arrived at `startedAt` is better refused: many are in work, and it has waited long, or would. */
  isOverloaded(startedAt: number): boolean {
    if (this.#limitMs === 0 || this.inWork <= MIN_OVERLOAD_REQUESTS) return false
    return performance.now() - Math.min(this.#lastTick + TICK_MS, startedAt) > this.#limitMs
  }

  close() {
    clearInterval(this.#timer)
  }
}

/** A process with fewer requests in work answers late instead of refusing. */
export const MIN_OVERLOAD_REQUESTS = 100
const TICK_MS = 20
