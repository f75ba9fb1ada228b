/**
 * The work of this process, a little in each turn of the event loop. Turns are short, because each accepts only one connection and reads
 * what has arrived on others once. Requests that have just arrived come first: they are only parsed and checked. Then come checked
 * requests, then long computations. Each kind has at least one piece in a turn. Within a kind, keys take turns.
 */
const kinds = ['arrival', 'request', 'computation'] as const
type Kind = (typeof kinds)[number]

/** Whose work it is: an address, before anything is checked; then an account. */
type Key = string | number | undefined

/** Pieces of work that wait, by key. How many there are is bounded by the limits of whoever asks for them. */
class Waiting {
  readonly #pieces = new Map<Key, (() => void)[]>()

  get isEmpty(): boolean {
    return this.#pieces.size === 0
  }

  add(key: Key, work: () => void) {
    this.#pieces.getOrInsertComputed(key, () => []).push(work)
  }

  doNext() {
    const [next] = this.#pieces
    if (next === undefined) return
    const [key, pieces] = next
    const work = pieces.shift()
    this.#pieces.delete(key)
    if (pieces.length > 0) this.#pieces.set(key, pieces)
    work?.()
  }
}

const waiting: Readonly<Record<Kind, Waiting>> = {
  arrival: new Waiting(),
  request: new Waiting(),
  computation: new Waiting(),
}

/** When the work of this turn began, undefined before that; and the kinds that have had a piece in it. */
let turnStart: number | undefined
const served = new Set<Kind>()

/** Does work of a request that has just arrived: now, or in one of the next turns. `now` is `performance.now()`. */
export function onArrival(address: Key, now: number, work: () => void) {
  if (mayGoOn(now)) work()
  else enqueue('arrival', address, work)
}

/** Waits for the turn of an account; undefined if it need not wait. After the check of a request, and between the parts of long work. */
export function turnOf(kind: 'request' | 'computation', account: number): Promise<void> | undefined {
  if (mayGoOn(performance.now(), kind === 'computation' ? COMPUTATION_MS : TURN_MS)) return undefined
  return new Promise<void>(resolve => enqueue(kind, account, resolve))
}

/** Handles each item, as long as a turn lasts; the others after what others wait for. `account` is the one that the work is for. */
export async function forEachInTurns<Item>(account: number, items: readonly Item[], handle: (item: Item) => void) {
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_IN_PART === 0) await turnOf('computation', account)
    handle(item)
  }
}

/** So few that they take less than a millisecond. */
const ITEMS_IN_PART = 200

/** How long work goes on in a turn. A computation pauses sooner, so that others wait less. */
const TURN_MS = 5
const COMPUTATION_MS = 2

function mayGoOn(now: number, limitMs = TURN_MS): boolean {
  return kinds.every(kind => waiting[kind].isEmpty) && !isTurnOver(now, limitMs)
}

/** Whether the turn has lasted too long; begins one if none has begun. */
function isTurnOver(now: number, limitMs = TURN_MS): boolean {
  if (turnStart === undefined) {
    turnStart = now
    setImmediate(endTurn)
  }
  return now - turnStart > limitMs
}

function endTurn() {
  turnStart = undefined
  served.clear()
}

function enqueue(kind: Kind, key: Key, work: () => void) {
  waiting[kind].add(key, work)
  setImmediate(doNext)
}

/** Is called once for each piece that waits. */
function doNext() {
  const isLate = isTurnOver(performance.now())
  const kind = kinds.find(kind => !waiting[kind].isEmpty && !(isLate && served.has(kind)))
  if (kind === undefined) {
    setImmediate(doNext)
    return
  }
  served.add(kind)
  waiting[kind].doNext()
}

/** Work of which a key may have so much at the same time; the rest waits, the oldest first. */
export class Places<Key> {
  readonly #most: number
  readonly #keys = new Map<Key, { taken: number; readonly waiting: (() => void)[] }>()

  constructor(most: number) {
    this.#most = most
  }

  waiting(key: Key): number {
    return this.#keys.get(key)?.waiting.length ?? 0
  }

  /** Waits for a place. Call what it returns once, when the work has ended. */
  async take(key: Key): Promise<() => void> {
    const places = this.#keys.getOrInsertComputed(key, () => ({ taken: 0, waiting: [] }))
    if (places.taken < this.#most) places.taken += 1
    // The one that ends leaves its place.
    else await new Promise<void>(resolve => places.waiting.push(resolve))
    return () => {
      const next = places.waiting.shift()
      if (next !== undefined) return next()
      places.taken -= 1
      if (places.taken === 0) this.#keys.delete(key)
    }
  }
}

export interface Overload {
  /** Whether a request has waited too long already, or the event loop is so far behind that a new one would. */
  isOverloaded(startedAt: number): boolean
  close(): void
}

/** A process with fewer requests in work answers late instead of refusing. */
export const MIN_OVERLOAD_REQUESTS = 100

/**
 * Notices when the event loop falls behind, by a timer that is due every `TICK_MS`. While more than `MIN_OVERLOAD_REQUESTS` are in
 * work, a request is refused if the timer is more than `limitMs` late when the request is handled, or the request has waited for its
 * turn that long. If the timer was late twice in a row, all requests are refused until it is in time. 0 never refuses.
 */
export function watchLoop(limitMs: number, requestsInWork: () => number): Overload {
  if (limitMs === 0) return { isOverloaded: () => false, close: () => {} }
  let lastTick = performance.now()
  let lateTicks = 0
  const isLate = (now: number) => now - lastTick > TICK_MS + limitMs
  const timer = setInterval(() => {
    const now = performance.now()
    lateTicks = isLate(now) ? lateTicks + 1 : 0
    lastTick = now
  }, TICK_MS)
  timer.unref()
  return {
    isOverloaded(startedAt) {
      if (requestsInWork() <= MIN_OVERLOAD_REQUESTS) return false
      if (lateTicks > 1) return true
      const now = performance.now()
      return isLate(now) || now - startedAt > limitMs
    },
    close: () => clearInterval(timer),
  }
}

const TICK_MS = 20
