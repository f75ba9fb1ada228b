import { fieldColumns, tables } from './formats/tables.ts'
import { documentOf, type Kind, type Row } from './kind.ts'
import { isObject } from './values.ts'

export interface SampleField {
  readonly title: string
  readonly value: Value
  /** The value that it replaces; null without one. */
  readonly before?: Value | null
  /** Of a time, in milliseconds since 1970, and of text that somebody wrote. */
  readonly form?: 'time' | 'text'
}

/** A record as it would be stored; of one that would be changed, what changes. */
export interface SampleRow {
  readonly kind: string
  readonly line: number
  readonly fields: readonly SampleField[]
}

type Value = string | number | boolean

export function sampleFields(kind: Kind, row: Row, stored: Row | undefined): readonly SampleField[] {
  const after = fieldsOf(kind, row).slice(0, MAX_FIELDS)
  if (stored === undefined) return after
  const before = new Map(fieldsOf(kind, stored).map(({ title, value }) => [title, value]))
  const emptied = fieldsOf(kind, stored).filter(({ title }) => !after.some(field => field.title === title))
  return [
    ...after.map(field => ({ ...field, before: before.get(field.title) ?? null })),
    ...emptied.map(field => ({ ...field, value: '', before: field.value })),
  ].filter(({ value, before }) => value !== before)
}

const MAX_FIELDS = 40
const MAX_TEXT = 200

function fieldsOf(kind: Kind, row: Row): readonly SampleField[] {
  const table = tables.find(one => one.kind === kind)
  const columns = Object.entries(table?.columns ?? {})
  const values = table?.valuesOf(row) ?? documentOf(row)
  const fields = kind.schema === undefined || table !== undefined ? [] : fieldColumns(kind.schema)
  const breaks = table === undefined ? [] : Object.keys(values).filter(key => key.startsWith('break '))
  return [
    ...[...columns, ...fields.map(column => [column.field, column] as const)].flatMap(([key, { title, type }]) =>
      field(title, values[key], type.isTime === true ? 'time' : type.isText === true ? 'text' : undefined),
    ),
    ...breaks.flatMap(key => field(key.replace('break', 'Break'), values[key], 'time')),
  ]
}

/** None for a value that is not there, or is a list. */
function field(title: string, value: unknown, form: SampleField['form']): SampleField[] {
  if (value === null || value === undefined || value === '' || Array.isArray(value) || isObject(value)) return []
  const shown = typeof value === 'string' ? value.slice(0, MAX_TEXT) : (value as Value)
  return [{ title, value: shown, ...(form === undefined ? {} : { form }) }]
}
