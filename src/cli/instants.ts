import { InvalidArgumentError } from 'commander'
import { to } from '../contract/parameters.ts'
import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import { Refusal } from '../contract/refusal.ts'

/** The end of a tier or of access, in milliseconds since 1970: an RFC 3339 date-time, or the end of a day (UTC). */
export function parseUntil(text: string): number {
  const instant = instantOf(text)
  if (instant !== undefined) return instant
  throw new InvalidArgumentError(
    'It must be an RFC 3339 date-time or YYYY-MM-DD, up to 9999-12-31. Leave the option out for no end.',
  )
}

/**
 * The end of an API key: a span, `never`, or an instant as for a tier. Returns a function from the current time to the end,
 * null for never; it throws Refusal if the span ends beyond the last instant.
 */
export function parseExpiry(text: string): (now: number) => number | null {
  if (text === 'never') return () => null
  const length = spanOf(text)
  if (length !== undefined) {
    return now => {
      if (now + length <= LATEST) return now + length
      throw new Refusal('usage', `--expires ends beyond ${formatTimestamp(LATEST)}: give an earlier end, or never`)
    }
  }
  const instant = instantOf(text)
  if (instant !== undefined) return () => instant
  throw new InvalidArgumentError(
    'It must be a span such as 30d (s, m, h, d, w, y), never, or an RFC 3339 date-time or YYYY-MM-DD, up to 9999-12-31.',
  )
}

/** A span such as `30s` or `5m`, in milliseconds; at most three weeks, because timers have a limit of 24 days. */
export function parseSpan(text: string): number {
  const length = spanOf(text)
  if (length === undefined || length > 21 * DAY_MS) {
    throw new InvalidArgumentError('It must be a span such as 30s, 5m, 1h or 1d, up to 3w.')
  }
  return length
}

function spanOf(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9][0-9]{0,8})([smhdwy])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (UNITS_MS[unit] ?? 0)
}

function instantOf(text: string): number | undefined {
  const until = to.parse(text)
  // The end of the last day would lie beyond the last instant that can be written.
  return until === undefined ? undefined : Math.min(until.before, LATEST)
}

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
}
