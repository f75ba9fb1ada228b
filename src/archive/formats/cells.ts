import { parseInstant, formatTimestamp } from '../../contract/time.ts'
import { InvalidError } from '../faults.ts'

/** How the cells of a column are written and read. */
export interface CellType<Value> {
  readonly write: (value: Value) => string | number
  /** Throws InvalidError. */
  readonly read: (text: string, context: CellContext) => Value
}

interface CellContext {
  /** Of times that have none. */
  readonly timeZone: string
  /** Whether a time had none. */
  usesTimeZone: boolean
}

export const textCell: CellType<string> = { write: text => text, read: text => text }

export const yesNoCell: CellType<boolean> = {
  write: is => (is ? 'yes' : 'no'),
  read: text => {
    const word = text.toLowerCase()
    if (/^(?:yes|true|1)$/.test(word)) return true
    if (/^(?:no|false|0)$/.test(word)) return false
    throw new InvalidError('must be yes or no')
  },
}

export const numberCell: CellType<number> = {
  write: number => number,
  read: text => {
    if (!/^[+-]?\d+(?:[.,]\d+)?(?:e[+-]?\d+)?$/i.test(text)) throw new InvalidError('must be a number')
    return Number(text.replace(',', '.'))
  },
}

/** Instants, in milliseconds since 1970. */
export const instantCell: CellType<number> = {
  write: formatTimestamp,
  read: (text, context) => {
    const local = localTime(text)
    if (local === undefined) throw new InvalidError(NO_TIME)
    const zoned = local.zone === '' ? undefined : parseInstant(local.time + local.zone)
    if (zoned !== undefined) return zoned.instant
    if (local.zone !== '') throw new InvalidError(NO_TIME)
    const { timeZone } = context
    try {
      const instant = Temporal.PlainDateTime.from(local.time, { overflow: 'reject' }).toZonedDateTime(timeZone)
      context.usesTimeZone = true
      return instant.epochMilliseconds
    } catch {
      throw new InvalidError(NO_TIME)
    }
  },
}

/** Instants as records have them. */
export const timestampCell: CellType<string> = {
  write: text => text,
  read: (text, context) => formatTimestamp(instantCell.read(text, context)),
}

const NO_TIME = 'must be a date and time such as 2026-02-16 18:00'

/** A time as spreadsheets write it, in the form of RFC 3339. */
function localTime(text: string): { readonly time: string; readonly zone: string } | undefined {
  const {
    year,
    month,
    day,
    otherDay,
    otherMonth,
    otherYear,
    hour = '0',
    minute = '00',
    second = '00',
    fraction = '',
    zone = '',
  } = DATE_TIME.exec(text)?.groups ?? {}
  const parts = [year ?? otherYear, month ?? otherMonth, day ?? otherDay]
  if (parts.includes(undefined)) return undefined
  const time = `${parts.map(part => part?.padStart(2, '0')).join('-')}T${hour.padStart(2, '0')}:${minute}:${second}${fraction}`
  const isOffset = /^[+-]\d{4}$/.test(zone)
  return { time, zone: isOffset ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase() }
}

const DATE_TIME =
  /^(?:(?<year>\d{4})-(?<month>\d\d?)-(?<day>\d\d?)|(?<otherDay>\d\d?)\.(?<otherMonth>\d\d?)\.(?<otherYear>\d{4}))(?:[T ,]+(?<hour>\d\d?):(?<minute>\d\d)(?::(?<second>\d\d)(?<fraction>\.\d{1,9})?)? ?(?<zone>Z|[+-]\d\d:?\d\d)?)?$/i
