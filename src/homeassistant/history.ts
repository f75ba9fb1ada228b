import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../client.ts'
import { HomeAssistant } from './connection.ts'
import { isRefused, serviceFailure } from './errors.ts'
import { changedRows, fullHour, type Hour, means, metadataOf, type Row, statisticId, sums } from './series.ts'
import { isRefusal, Refusal } from '../contract/refusal.ts'

export interface HistoryOptions {
  readonly client: Client
  readonly server: string
  readonly token: string
  /** Names the series of an account, as it does its entities. */
  readonly id: string
  readonly name: string
  readonly signal: AbortSignal
  /** Called with what was done, how much of it, and of how much. */
  readonly progress: (title: string, done: number, of: number) => void
  /** If present, all is repeated after so many milliseconds, until the signal. */
  readonly every?: number | undefined
  /** Called with the outcome of each time that is followed by another. */
  readonly say?: (line: string) => void
}

/** Writes all of the history as statistics of Home Assistant, where it lacks or differs, and returns what it did. Throws Refusal. */
export async function writeHistory(options: HistoryOptions): Promise<string> {
  const { every, signal, say = () => {} } = options
  const history = new History(options)
  for (;;) {
    try {
      const rows = await history.write()
      const done = rows === 0 ? 'Home Assistant has the whole history' : `wrote ${rows} rows to Home Assistant`
      if (every === undefined) return done
      say(done)
    } catch (error) {
      signal.throwIfAborted()
      if (every === undefined || !isRefusal(error, 'peer-away')) throw error
      say(`lockstep: ${error.message}; trying again in ${every / 1000} s`)
    }
    await delay(every, undefined, { signal })
  }
}

type Area = '/api/v1/lkbx/stats' | '/api/v1/dtt/stats'
const AREAS: readonly Area[] = ['/api/v1/lkbx/stats', '/api/v1/dtt/stats']

class History {
  readonly #options: HistoryOptions
  /** What was read, by the start of the hour. */
  readonly #hours = new Map<number, Hour>()
  #zone = 'UTC'
  /** The totals of months long ago: while they are the same, the hours of these months are. */
  #totals = ''
  #wroteAllAt = -Infinity

  constructor(options: HistoryOptions) {
    this.#options = options
  }

  /** Writes the rows that are missing or differ, and returns their number. */
  async write(): Promise<number> {
    const { server, token, signal } = this.#options
    using connection = await HomeAssistant.connect(server, token, signal)
    const months = await this.#readMonths()
    const recent = Temporal.Now.plainDateISO(this.#zone).subtract({ days: RECENT_DAYS }).with({ day: 1 })
    const isRecent = ({ date }: { date: string }) => date >= recent.toString()
    const totals = JSON.stringify([this.#zone, months.filter(month => !isRecent(month))])
    // Who deleted statistics there has them again after a day.
    const isWhole = totals !== this.#totals || performance.now() - this.#wroteAllAt > DAY_MS
    const since = isWhole ? -Infinity : recent.toZonedDateTime(this.#zone).epochMilliseconds
    await this.#readHours(isWhole ? months : months.filter(isRecent), since)
    const rows = await this.#compare(connection, since)
    if (isWhole) {
      this.#totals = totals
      this.#wroteAllAt = performance.now()
    }
    return rows
  }

  async #readMonths() {
    const from = Temporal.Now.plainDateISO('UTC')
      .with({ day: 1 })
      .subtract({ months: MAX_MONTHS - 2 })
    const months = []
    for (const area of AREAS) {
      const { buckets, timeZone } = await this.#get(area, { bucket: 'month', from: from.toString() })
      this.#zone = timeZone
      months.push(...buckets.filter(isActive).map(bucket => ({ area, ...bucket })))
    }
    return months
  }

  /** Replaces the hours from an instant on by those of these months. */
  async #readHours(months: readonly { readonly area: Area; readonly date: string }[], since: number) {
    for (const start of this.#hours.keys()) if (start >= since) this.#hours.delete(start)
    for (const [index, { area, date }] of months.entries()) {
      this.#options.progress('months read', index, months.length)
      for (const [start, hour] of await this.#hoursOf(area, date)) {
        this.#hours.set(start, { ...this.#hours.get(start), ...hour })
      }
    }
  }

  /** The hours of a month in which something happened, and which are over. */
  async #hoursOf(area: Area, date: string) {
    const first = Temporal.PlainDate.from(date)
    const middle = first.with({ day: 16 })
    const hours: [start: number, hour: Hour][] = []
    for (const [from, to] of [
      [first, middle.subtract({ days: 1 })],
      [middle, first.add({ months: 1 }).subtract({ days: 1 })],
    ] as const) {
      const { buckets } = await this.#get(area, { bucket: 'hour', from: from.toString(), to: to.toString() })
      for (const bucket of buckets) {
        if (bucket.partial || !isActive(bucket)) continue
        hours.push([Date.parse(bucket.start), 'sessions' in bucket ? { training: bucket } : { lock: bucket }])
      }
    }
    return hours
  }

  async #get(area: Area, params: { bucket: 'month' | 'hour'; from: string; to?: string }) {
    const { client, signal } = this.#options
    try {
      return await client.get(area, params, { signal })
    } catch (error) {
      signal.throwIfAborted()
      throw new Refusal(isRefused(error) ? 'peer' : 'peer-away', serviceFailure(error))
    }
  }

  /** Compares with the rows of Home Assistant from an instant on, and writes what differs. */
  async #compare(connection: HomeAssistant, since: number): Promise<number> {
    const { id, name, progress } = this.#options
    const hours = this.#hours
    const existing = await this.#existing(connection, since)
    const changes: { readonly metadata: object; readonly rows: readonly Row[] }[] = []
    for (const series of [...sums, ...means]) {
      const statistic = statisticId(id, series)
      const rows = existing.get(statistic) ?? new Map<number, Row>()
      let changed = changedRows(series, hours, rows, since)
      if (changed === undefined) {
        await connection.call('recorder/clear_statistics', { statistic_ids: [statistic] })
        changed = changedRows(series, hours, new Map(), -Infinity)
      }
      changes.push({ metadata: metadataOf(id, name, series), rows: changed ?? [] })
    }
    const expected = changes.reduce((count, { rows }) => count + rows.length, 0)
    let written = 0
    for (const { metadata, rows } of changes) {
      for (let from = 0; from < rows.length; from += MAX_ROWS) {
        progress('rows written', written, expected)
        const stats = rows.slice(from, from + MAX_ROWS).map(row => ({ ...row, start: fullHour(row.start, this.#zone) }))
        await connection.call('recorder/import_statistics', { metadata, stats })
        written += stats.length
      }
    }
    return written
  }

  /** The rows that Home Assistant has from an instant on, by series. A year at once, so that no message is large. */
  async #existing(connection: HomeAssistant, since: number): Promise<Map<string, Map<number, Row>>> {
    const found = new Map<string, Map<number, Row>>()
    const ids = [...sums, ...means].map(series => statisticId(this.#options.id, series))
    const now = Date.now()
    const first = Math.min(now, ...this.#hours.keys())
    let end = Math.max(since, 0)
    while (end < now) {
      const start = end
      // The first part also has the time before the history, where no rows are expected.
      end = Math.max(start, first) + YEAR_MS
      const result = await connection.call('recorder/statistics_during_period', {
        start_time: new Date(start).toISOString(),
        end_time: new Date(end).toISOString(),
        statistic_ids: ids,
        period: 'hour',
        types: ['state', 'sum', 'mean', 'min', 'max'],
      })
      // Home Assistant answers with rows by series.
      for (const [id, rows] of Object.entries(result as Record<string, readonly Row[]>)) {
        const known = found.getOrInsertComputed(id, () => new Map<number, Row>())
        for (const row of rows) known.set(row.start, row)
      }
    }
    return found
  }
}

function isActive(bucket: { sessions: number } | { lockedSeconds: number; breakSeconds: number }): boolean {
  return 'sessions' in bucket ? bucket.sessions > 0 : bucket.lockedSeconds + bucket.breakSeconds > 0
}

/** What the statistics can have in one response. */
const MAX_MONTHS = 400
/** Records of these days come late, and are corrected without a change of the totals of their month. */
const RECENT_DAYS = 35
/** Home Assistant closes a connection that sends more than 4 MiB at once; this is less than 100 KiB. */
const MAX_ROWS = 1000
const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
