import type { TObject, TSchema } from 'typebox'
import { label } from '../../contract/labels.ts'
import { LockSession } from '../../contract/lock-sessions.ts'
import { TrainingSession } from '../../contract/training-sessions.ts'
import { formatTimestamp } from '../../contract/time.ts'
import type { CsvCells } from './csv.ts'
import { InvalidError } from '../faults.ts'
import { documentOf, type Kind, type Row } from '../kind.ts'
import { type MadeHere, parseMadeHere } from '../made-here.ts'
import { lockSession, trainingSession } from '../session-kinds.ts'
import { isObject, type JsonObject } from '../values.ts'
import {
  type CellType,
  identifierCell,
  instantCell,
  nameCell,
  numberCell,
  percentCell,
  secondsCell,
  textCell,
  timestampCell,
  wholeCell,
  yesNoCell,
} from './cells.ts'

/**
 * The tables of records: their columns as the pages write them, as people fill them in, and as they are read.
 */

interface Column<Value> extends Rules {
  readonly title: string
  readonly type: CellType<Value>
}

interface Rules {
  /** What rows that people fill in may have: 0 or more unless it says how much. */
  readonly most?: number
  /** Units that a title may have, and how much of ours they are. */
  readonly units?: Readonly<Record<string, number>>
}

type ValueOf<C> = C extends Column<infer Value> ? Value : never
type Values<C> = { readonly [Key in keyof C]?: ValueOf<C[Key]> }

/** A column whose values are of any type. */
interface ReadColumn extends Rules {
  readonly title: string
  readonly type: Pick<CellType<unknown>, 'read' | 'isText' | 'isTime'>
}

export interface Table {
  readonly kind: Kind
  readonly columns: Readonly<Record<string, ReadColumn>>
  /** Titles of columns without which it is another table. */
  readonly recognised: readonly string[]
  /** The columns that each row must fill; the first one says when it began. */
  readonly required: readonly [string, ...string[]]
  /** Titles of columns that are not read, because records do not have them. */
  readonly derived: readonly string[]
  /** The header of the table that people fill in. */
  readonly template: readonly string[]
  /** Whether rows may have columns such as "Break 1 from". */
  readonly hasBreaks: boolean
  valuesOf(record: Row): Readonly<Record<string, unknown>>
  /** The line of an archive, from the values of a row. Throws InvalidError. */
  line(
    values: Readonly<Record<string, unknown>>,
    row: { readonly id: number; readonly account: number; readonly madeHere: MadeHere },
  ): JsonObject
}

function column<V>(title: string, type: CellType<V>, rules: Rules = {}): Column<V> {
  return { title, type, ...rules }
}

const SECONDS = { s: 1, min: 60, h: 3600 }

/** A field that tables show as records have it. */
export interface FieldColumn extends ReadColumn {
  readonly field: string
}

type FieldValue = string | number | boolean

/** A column for each field of a record but those that a table shows in another way, or not at all, and lists. */
export function fieldColumns({ properties }: TObject, others: readonly string[] = []): readonly FieldColumn[] {
  return Object.entries(properties).flatMap(([field, schema]) => {
    const type = others.includes(field) ? undefined : fieldType(schema)
    return type === undefined ? [] : [{ field, title: label(field), type }]
  })
}

function fieldType(
  schema: TSchema & { type?: string; format?: string; anyOf?: TSchema[] },
): ReadColumn['type'] | undefined {
  const [inner] = schema.anyOf ?? []
  if (inner !== undefined) return fieldType(inner)
  if (schema.type === 'string') return schema.format === 'date-time' ? timestampCell : textCell
  if (schema.type === 'boolean') return yesNoCell
  if (schema.type === 'integer') return wholeCell
  return schema.type === 'number' ? numberCell : undefined
}

/** The values of a record under these columns; null where it has none, and for text while names are hidden. */
export function fieldValues(columns: readonly FieldColumn[], record: object = {}, isDiscreet: boolean) {
  return columns.map(({ field, type }) => {
    // The archive wrote it in the form of the contract, from which the column was made.
    const value = (record as Readonly<Record<string, FieldValue | null>>)[field] ?? null
    return isDiscreet && type.isText === true ? null : value
  })
}

function fieldsFrom(columns: readonly FieldColumn[], values: object): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => columns.some(({ field }) => field === key)))
}

function columnsOf(columns: Table['columns'], fields: readonly FieldColumn[]): Table['columns'] {
  return { ...columns, ...Object.fromEntries(fields.map(column => [column.field, column])) }
}

/** Writes rows with these columns and those of fields, and their header. While names are hidden, a file has no columns for texts. */
function writer<Row>(columns: { readonly [K in keyof Row]: Column<Row[K]> }, fields: readonly FieldColumn[]) {
  // It has no other keys.
  const keys = Object.keys(columns) as (keyof Row)[]
  const isShown = ({ type }: ReadColumn, isDiscreet: boolean) => !isDiscreet || type.isText !== true
  return {
    header: (isDiscreet: boolean) =>
      [...keys.map((key): ReadColumn => columns[key]), ...fields]
        .filter(column => isShown(column, isDiscreet))
        .map(({ title }) => title),
    cells(
      values: { readonly [K in keyof Row]: Row[K] | null },
      record: object | undefined,
      isDiscreet: boolean,
    ): CsvCells {
      const shown = keys.filter(key => isShown(columns[key], isDiscreet))
      const own = fieldValues(
        fields.filter(field => isShown(field, isDiscreet)),
        record,
        isDiscreet,
      )
      return [
        ...shown.map(key => {
          const value: Row[keyof Row] | null = values[key]
          return value === null ? null : columns[key].type.write(value)
        }),
        ...own.map(value => (typeof value === 'boolean' ? yesNoCell.write(value) : value)),
      ]
    },
  }
}

export const trainingFields = fieldColumns(TrainingSession, [
  'id',
  'bubble_id',
  'name',
  'passed',
  'created_at',
  'trainer_id',
  'settings_id',
  'repsMeasured',
  'distanceTravelled',
  'distanceApproximate',
])

const trainingColumns = {
  number: column('Number', identifierCell),
  recorded: column('Recorded', instantCell),
  programNumber: column('Program number', wholeCell),
  program: column('Program', nameCell(/^(?:no program|program \d+)$/i)),
  passed: column('Passed', yesNoCell),
  type: column('Type', textCell),
  grade: column('Grade', percentCell, { most: 100, units: { '%': 1 } }),
  segments: column('Segments', wholeCell),
  seconds: column('Duration (s)', secondsCell, { units: SECONDS }),
  repetitions: column('Repetitions', wholeCell),
  distance: column('Distance (m)', numberCell, { units: { m: 1, km: 1000, cm: 0.01 } }),
  approximate: column('Approximate distance', yesNoCell),
}

const { type: _type, seconds: _seconds, ...writtenColumns } = trainingColumns
export const trainingWriter = writer(writtenColumns, trainingFields)

const trainingTable: Table = {
  kind: trainingSession,
  columns: columnsOf(trainingColumns, trainingFields),
  recognised: ['Recorded', 'Passed'],
  required: ['recorded', 'passed'],
  derived: ['Segments'],
  template: ['Recorded', 'Program', 'Passed', 'Type', 'Grade', 'Duration (s)', 'Repetitions', 'Distance (m)'],
  hasBreaks: false,
  valuesOf: record => {
    const document = documentOf(record)
    const { settings_id: program, TrainerSegment: segments, repsMeasured, distanceTravelled } = document
    const [segment = {}] = Array.isArray(segments) ? segments.filter(isObject) : []
    return {
      ...document,
      recorded: record['at'],
      programNumber: program === 0 ? undefined : program,
      program: parseMadeHere(record['made_here'])?.program ?? document['name'],
      type: segment['type'],
      grade: record['grade'],
      seconds: segment['durationMeasured'],
      repetitions: repsMeasured,
      distance: distanceTravelled,
      approximate: document['distanceApproximate'],
    }
  },
  line: (values: Values<typeof trainingColumns>, { id, account, madeHere }) => ({
    kind: 'training-session',
    data: {
      id,
      bubble_id: '',
      name: values.program ?? '',
      passed: values.passed,
      created_at: timestamp(values.recorded),
      trainer_id: 0,
      settings_id: values.programNumber ?? 0,
      TrainerSegment: [segmentOf(values)],
      repsMeasured: values.repetitions ?? 0,
      ...(values.distance === undefined ? {} : { distanceTravelled: values.distance }),
      ...(values.approximate === true ? { distanceApproximate: true } : {}),
      ...fieldsFrom(trainingFields, values),
    },
    ownerId: account,
    madeHere,
  }),
}

/** What somebody filled in is a session of one segment. */
function segmentOf(values: Values<typeof trainingColumns>) {
  const { type = 'freeform', passed, grade, seconds, repetitions, distance } = values
  return {
    id: 1,
    type,
    passed,
    percentGrade: grade ?? null,
    points: 0,
    durationMeasured: seconds ?? 0,
    durationTarget: 0,
    repsMeasured: repetitions ?? 0,
    repsTarget: 0,
    ...(distance === undefined ? {} : { distanceTravelled: distance }),
  }
}

/** The states of a lock as files name them, also in discreet mode. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  pending: ['Pending'],
  locked: ['Locked', 'Active'],
  break: ['On a break', 'Paused'],
  completed: ['Completed'],
  abandoned: ['Ended early'],
}

const stateCell: CellType<string> = {
  write: state => state,
  read: text => Object.keys(STATES).find(state => STATES[state]?.includes(text)) ?? text,
}

export const lockFields = fieldColumns(LockSession, [
  'id',
  'bubbleId',
  'publicId',
  'ownerId',
  'name',
  'lockState',
  'duration',
  'startDate',
  'isActive',
  'endDate',
  'createdAt',
])

const lockColumns = {
  number: column('Number', identifierCell),
  name: column('Name', nameCell(/^lock \d+$/i)),
  state: column('State', stateCell),
  started: column('Started', instantCell),
  ended: column('Ended', instantCell),
  planned: column('Planned (s)', secondsCell, { units: SECONDS }),
  locked: column('Locked (s)', secondsCell),
  breakSeconds: column('Breaks (s)', secondsCell),
  breaks: column('Breaks', wholeCell),
}

export const lockWriter = writer(lockColumns, lockFields)

const lockTable: Table = {
  kind: lockSession,
  columns: columnsOf(lockColumns, lockFields),
  recognised: ['Started', 'Ended'],
  required: ['started'],
  derived: ['Locked (s)', 'Breaks (s)', 'Breaks'],
  template: ['Name', 'Started', 'Ended', 'Break 1 from', 'Break 1 to', 'Break 2 from', 'Break 2 to'],
  hasBreaks: true,
  valuesOf: record => {
    const document = documentOf(record)
    const events = timedEvents(document['LockSegment'])
    return {
      ...document,
      state: document['lockState'],
      started: record['at'],
      // Without one, the last event ended it.
      ended:
        document['isActive'] === true ? null : (record['ended_at'] ?? events.toSorted((a, b) => b.at - a.at)[0]?.at),
      planned: document['duration'],
      ...Object.fromEntries(events.filter(({ type }) => type === 'break' || type === 'locked').map(breakTime)),
    }
  },
  line: (values: Values<typeof lockColumns>, { id, account, madeHere }) => {
    const { started, ended } = values
    const state = values.state ?? (ended === undefined ? 'locked' : 'completed')
    const isRunning = state === 'locked' || state === 'break'
    if (isRunning !== (ended === undefined)) {
      throw new InvalidError(
        isRunning ? 'must be empty while State is Locked or On a break' : 'is missing: write it, or the state Locked',
        'Ended',
      )
    }
    if (started !== undefined && ended !== undefined && ended < started) {
      throw new InvalidError('must not be before Started', 'Ended')
    }
    return {
      kind: 'lock-session',
      data: {
        id,
        bubbleId: '',
        publicId: '',
        ownerId: account,
        name: values.name ?? '',
        lockState: state,
        // Of zero, nobody knows what it means.
        duration: values.planned ?? 0,
        startDate: timestamp(started),
        isActive: ended === undefined && isRunning,
        LockSegment: started === undefined ? [] : eventsOf(started, ended, breaksFrom(values)),
        endDate: ended === undefined ? null : timestamp(ended),
        ...fieldsFrom(lockFields, values),
      },
      madeHere,
    }
  },
}

/** The events of a session: its start, its breaks and its end. Throws InvalidError. */
function eventsOf(started: number, ended: number | undefined, breaks: readonly Break[]): JsonObject[] {
  const events: (readonly [type: string, at: number, isLocked: boolean])[] = [['start', started, true]]
  let last = started
  for (const [from, to] of breaks) {
    if (from < last || to < from || (ended !== undefined && to > ended)) {
      throw new InvalidError('must be in order, and within the session', 'breaks')
    }
    events.push(['break', from, false], ['locked', to, true])
    last = to
  }
  if (ended !== undefined) events.push(['unlocked', ended, false])
  return events.map(([type, at, isLocked], index) => ({ id: index + 1, type, createdAt: timestamp(at), isLocked }))
}

type Break = readonly [from: number, to: number]

/** The breaks of a row, by their numbers. Throws InvalidError. */
function breaksFrom(values: Readonly<Record<string, unknown>>): Break[] {
  const numbers = Object.keys(values).flatMap(key => /^break (\d+) /.exec(key)?.[1] ?? [])
  return [...new Set(numbers)]
    .toSorted((a, b) => Number(a) - Number(b))
    .map(index => {
      const [from, to] = [values[`break ${index} from`], values[`break ${index} to`]]
      if (typeof from === 'number' && typeof to === 'number') return [from, to]
      throw new InvalidError('must have a start and an end', 'breaks')
    })
}

function timedEvents(events: unknown) {
  return (Array.isArray(events) ? events.filter(isObject) : []).map(({ type, createdAt }) => ({
    type,
    at: Date.parse(String(createdAt)),
  }))
}

/** The time of an event of a break, by the key of its column. */
function breakTime({ type, at }: { readonly type: unknown; readonly at: number }, index: number) {
  return [`break ${Math.floor(index / 2) + 1} ${type === 'break' ? 'from' : 'to'}`, at] as const
}

function timestamp(instant: number | undefined): string | undefined {
  return instant === undefined ? undefined : formatTimestamp(instant)
}

export const tables: readonly Table[] = [trainingTable, lockTable]

/** The header of a table that people fill in, by the name of its file. */
export const templates: Readonly<Record<'training' | 'locks', readonly string[]>> = {
  training: trainingTable.template,
  locks: lockTable.template,
}
