import { InvalidArgumentError } from 'commander'
import { end } from '../contract/parameters.ts'
import { DAY_MS } from '../contract/time.ts'

/** An end, as milliseconds since 1970: an RFC 3339 date-time, or a day (UTC) that still belongs. */
export function parseUntil(text: string): number {
  const until = UNTIL.parse(text)
  if (until === undefined) throw new InvalidArgumentError('It must be an RFC 3339 date-time or YYYY-MM-DD.')
  return until.before
}

/** The end of a token: a span from now, an instant, or null for never. Returns what to add to the clock, or where to end. */
export function parseExpiry(text: string): (now: number) => number | null {
  if (text === 'never') return () => null
  const span = /^([1-9][0-9]{0,8})([smhdwy])$/.exec(text)
  if (span !== null) {
    const length = Number(span[1]) * (UNITS[span[2] ?? ''] ?? 0)
    return now => now + length
  }
  try {
    const instant = parseUntil(text)
    return () => instant
  } catch {
    throw new InvalidArgumentError('It must be a span such as 30d (s, m, h, d, w, y), never, or an RFC 3339 date-time.')
  }
}

const UNTIL = end('')

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
}
