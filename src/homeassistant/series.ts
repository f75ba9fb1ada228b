import type { Endpoints } from '../contract/index.ts'
import { segmentTypes } from '../contract/training-templates.ts'

/** The statistics in Home Assistant: what they are, and their rows. */

type LockHour = Endpoints['/api/v1/lkbx/stats']['data']['buckets'][number]
type TrainingHour = Endpoints['/api/v1/dtt/stats']['data']['buckets'][number]

/** One past hour; a part is missing if nothing of it happened. */
export interface Hour {
  readonly lock?: LockHour
  readonly training?: TrainingHour
}

interface Series {
  readonly id: string
  readonly name: string
  readonly unit: string
  /** The class of units that Home Assistant converts it to, if it knows one. */
  readonly unitClass: 'duration' | 'distance' | 'unitless' | null
}

/** A number that counts up: whole parts of its unit, which add up exactly. */
export interface SumSeries extends Series {
  readonly partsOf: (hour: Hour) => number
  readonly partsPerUnit: number
}

/** A mean with the lowest and highest value; null where there is none. */
export interface MeanSeries extends Series {
  readonly valuesOf: (hour: Hour) => TrainingHour['grades'][number] | null
}

type Unit = Pick<SumSeries, 'unit' | 'unitClass' | 'partsPerUnit'>
const HOURS: Unit = { unit: 'h', unitClass: 'duration', partsPerUnit: 3600 }
const METERS: Unit = { unit: 'm', unitClass: 'distance', partsPerUnit: 1_000_000 }
const countOf = (unit: string): Unit => ({ unit, unitClass: null, partsPerUnit: 1 })

/** Metres as the status has them, estimated ones included. */
function metersOf({ training }: Hour): number {
  return (training?.distanceMeters ?? 0) + (training?.distanceApproximateMeters ?? 0)
}

export const sums: readonly SumSeries[] = [
  { id: 'locked', name: 'locked time', ...HOURS, partsOf: ({ lock }) => lock?.lockedSeconds ?? 0 },
  { id: 'breaks', name: 'breaks', ...HOURS, partsOf: ({ lock }) => lock?.breakSeconds ?? 0 },
  { id: 'sessions', name: 'sessions', ...countOf('sessions'), partsOf: ({ training }) => training?.sessions ?? 0 },
  {
    id: 'repetitions',
    name: 'repetitions',
    ...countOf('repetitions'),
    partsOf: hour => hour.training?.repsMeasured ?? 0,
  },
  { id: 'distance', name: 'distance', ...METERS, partsOf: hour => Math.round(metersOf(hour) * METERS.partsPerUnit) },
]

/** Grades of different types of segments have no mean together. A type that the contract does not list could be a text. */
export const means: readonly MeanSeries[] = segmentTypes.map(name => ({
  id: `grade_${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')}`,
  name: `grade ${name}`,
  unit: '%',
  unitClass: 'unitless',
  valuesOf: ({ training }) => training?.grades.find(({ type }) => type === name) ?? null,
}))

/** The id of a series; Home Assistant demands that it begins with the source. */
export function statisticId(device: string, { id }: Series): string {
  return device === SOURCE ? `${SOURCE}:${id}` : `${SOURCE}:${device}_${id}`
}

const SOURCE = 'lockstep'

export function metadataOf(device: string, name: string, series: SumSeries | MeanSeries) {
  return {
    statistic_id: statisticId(device, series),
    source: SOURCE,
    name: `${name} ${series.name}`,
    unit_of_measurement: series.unit,
    unit_class: series.unitClass,
    has_sum: 'partsOf' in series,
    mean_type: 'partsOf' in series ? NO_MEAN : ARITHMETIC_MEAN,
  }
}

const NO_MEAN = 0
const ARITHMETIC_MEAN = 1

/** A row as Home Assistant has it; `start` in milliseconds. */
export type Row = { readonly start: number } & Partial<Record<'state' | 'sum' | 'mean' | 'min' | 'max', number | null>>

/**
 * The rows that are missing or differ from `since` on. Rows are never removed: where nothing happens any more, a row of a sum adds nothing.
 * Undefined if a mean has a row that it should not have, so that all of it must be written again.
 */
export function changedRows(
  series: SumSeries | MeanSeries,
  hours: ReadonlyMap<number, Hour>,
  existing: ReadonlyMap<number, Row>,
  since: number,
): Row[] | undefined {
  const rows: Row[] = []
  let total = 0
  for (const start of [...new Set([...hours.keys(), ...existing.keys()])].toSorted((a, b) => a - b)) {
    const hour = hours.get(start) ?? {}
    let row: Row | undefined
    if ('partsOf' in series) {
      const { partsPerUnit } = series
      const parts = series.partsOf(hour)
      total += parts
      if (parts !== 0 || existing.has(start)) row = { start, state: parts / partsPerUnit, sum: total / partsPerUnit }
    } else {
      const values = series.valuesOf(hour)
      if (values !== null) row = { start, mean: values.mean, min: values.min, max: values.max }
      else if (start >= since && existing.has(start)) return undefined
    }
    if (row !== undefined && start >= since && !isSame(row, existing.get(start))) rows.push(row)
  }
  return rows
}

/** Numbers may have been stored with less precision. */
function isSame(row: Row, other: Row | undefined): boolean {
  return VALUES.every(name => {
    const [value, known] = [row[name] ?? null, other?.[name] ?? NaN]
    return value === null || Math.abs(value - known) < 1e-9 * Math.max(1, Math.abs(value))
  })
}

const VALUES = ['start', 'state', 'sum', 'mean', 'min', 'max'] as const

/**
 * The start of an hour as a full hour with its offset, which Home Assistant demands. Where clocks changed by half an hour, it is full in
 * the offset that held until then.
 */
export function fullHour(start: number, zone: string): string {
  const instant = Temporal.Instant.fromEpochMilliseconds(start)
  const local = instant.toZonedDateTimeISO(zone)
  const { offset } = local.minute === 0 ? local : instant.subtract({ nanoseconds: 1 }).toZonedDateTimeISO(zone)
  return instant.toString({ timeZone: offset, smallestUnit: 'second' })
}
