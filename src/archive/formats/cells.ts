import { parseInstant, formatTimestamp } from '../../contract/time.ts'
import { InvalidError } from '../faults.ts'
import { FormatError } from './errors.ts'

export interface CellType<Value> {
  /** Whether somebody wrote it, so that it is hidden with names. */
  readonly isText?: boolean
  readonly isTime?: boolean
  readonly write: (value: Value) => string | number
  /** Throws InvalidError. */
  readonly read: (text: string, context: CellContext) => Value
}

interface CellContext {
  /** Of times that have none. */
  readonly timeZone: string
  /** Between the cells of the file. */
  readonly delimiter: string
  /** The time before the one that is read, in the same row. */
  readonly after?: number | undefined
  /** Called for a time that has none. */
  readonly noteTimeZone: () => void
  /** Called with what was done to a value, to be counted, and the value before and after. */
  readonly note: (what: string, before: string, after: string) => void
}

export const textCell: CellType<string> = { isText: true, write: text => text, read: text => text }

/** Names, but for those that stand for none. */
export function nameCell(placeholder: RegExp): CellType<string> {
  return { isText: true, write: name => name, read: text => (placeholder.test(text) ? '' : text) }
}

export const yesNoCell: CellType<boolean> = {
  write: is => (is ? 'yes' : 'no'),
  read: text => {
    const word = text.toLowerCase()
    if (/^(?:yes|true|1)$/.test(word)) return true
    if (/^(?:no|false|0)$/.test(word)) return false
    throw new InvalidError('must be yes or no')
  },
}

const numeric = (read: CellType<number>['read']): CellType<number> => ({ write: number => number, read })

export const numberCell = numeric(readNumber)

export const wholeCell = numeric((text, context) => {
  const number = readNumber(text, context)
  if (!Number.isSafeInteger(number)) throw new InvalidError('must be a whole number')
  return number
})

export const identifierCell = numeric(text => {
  if (/^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new InvalidError(
    'is no number of a record: if the spreadsheet shortened it, enter it again in a column formatted as text; empty it for a new record',
  )
})

/** Seconds. Spreadsheets show a part of a day as a time. */
export const secondsCell = numeric((text, context) => {
  const seconds = readNumber(text, context)
  if (seconds > 0 && seconds < 1)
    throw new InvalidError('is less than a second: write parts of a day in seconds, as in 43200 for half a day')
  if (!Number.isSafeInteger(seconds)) throw new InvalidError('must be whole seconds')
  return seconds
})

export const percentCell = numeric((text, context) => {
  const percent = readNumber(text.replace(/ ?%$/, ''), context)
  // What one cell is, the whole column is.
  if (percent > 0 && percent < 1)
    throw new FormatError('the column Grade has fractions such as 0.8: write percents, as in 80 or 80%')
  if (!Number.isSafeInteger(percent)) throw new InvalidError('must be a whole number')
  return percent
})

/** Digits, a sign and a decimal mark. A mark before three digits may separate thousands. Throws InvalidError. */
function readNumber(text: string, { delimiter }: CellContext): number {
  const {
    whole = '',
    mark,
    fraction = '',
  } = /^(?<whole>[+-]?\d+)(?:(?<mark>[.,])(?<fraction>\d+))?$/.exec(text)?.groups ?? {}
  if (whole === '') throw new InvalidError('must be a number, without separators of thousands')
  const isDecimal = fraction.length !== 3 || /^[+-]?0/.test(whole) || (mark === '.' && delimiter === ',')
  if (mark !== undefined && !isDecimal) {
    throw new InvalidError(
      'has an ambiguous comma or point: write 1234 if it means thousands, or 1.2340 if it is a decimal mark',
    )
  }
  return Number(`${whole}.${fraction || '0'}`)
}

/** Instants, in milliseconds since 1970: the earliest reading that is not before the time before it. */
export const instantCell: CellType<number> = {
  isTime: true,
  write: formatTimestamp,
  read: (text, context) => {
    const { timeZone, after = -Infinity, noteTimeZone, note } = context
    const local = localTime(text)
    if (local === undefined) throw new InvalidError(NO_TIME)
    const zoned = local.zone === '' ? undefined : parseInstant(local.time + local.zone)
    if (zoned !== undefined) return zoned.instant
    if (local.zone !== '') throw new InvalidError(NO_TIME)
    const plain = plainOf(local.time)
    const [first, second] = [
      plain.toZonedDateTime(timeZone, { disambiguation: 'earlier' }),
      plain.toZonedDateTime(timeZone, { disambiguation: 'later' }),
    ]
    if (!first.toPlainDateTime().equals(plain)) {
      throw new InvalidError(
        'does not exist on that day, because clocks were put forward: write it with its offset, as in +01:00',
      )
    }
    const [earlier, later] = [first.epochMilliseconds, second.epochMilliseconds]
    noteTimeZone()
    const read = earlier < after ? later : earlier
    if (earlier !== later)
      note('times that a clock showed twice on that day to the first that fits', text, formatTimestamp(read))
    return read
  },
}

function plainOf(time: string): Temporal.PlainDateTime {
  try {
    return Temporal.PlainDateTime.from(time, { overflow: 'reject' })
  } catch {
    throw new InvalidError(NO_TIME)
  }
}

/** The minute of a time as it is written, whatever the form; undefined if it is none. */
export function minuteOf(text: string): string | undefined {
  const { time, zone } = localTime(text) ?? {}
  return time === undefined ? undefined : `${time.slice(0, 16)}${zone}`
}

/** Instants as records have them. */
export const timestampCell: CellType<string> = {
  write: text => text,
  read: (text, context) => formatTimestamp(instantCell.read(text, context)),
}

const NO_TIME = 'must be a date and time such as 2026-02-16 18:00'

/** A time as spreadsheets write it, in the form of RFC 3339. */
function localTime(text: string): { readonly time: string; readonly zone: string } | undefined {
  const found = DATE_TIME.exec(text)?.groups
  if (found === undefined) return undefined
  const { year, month = '', day = '', hour = '0', minute = '00', second = '00', fraction = '', zone = '' } = found
  const date = [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-')
  const time = `${date}T${hour.padStart(2, '0')}:${minute}:${second}${fraction.slice(0, 4)}`
  const isOffset = /^[+-]\d{4}$/.test(zone)
  return { time, zone: isOffset ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase() }
}

const DATE_TIME =
  /^(?:(?<year>\d{4})-(?<month>\d\d?)-(?<day>\d\d?)|(?<day>\d\d?)\.(?<month>\d\d?)\.(?<year>\d{4}))(?:[T ,]+(?<hour>\d\d?):(?<minute>\d\d)(?::(?<second>\d\d)(?<fraction>\.\d+)?)? ?(?<zone>Z|[+-]\d\d:?\d\d)?)?$/i
