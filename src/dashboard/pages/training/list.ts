import { segmentTypes } from '../../../contract/training-templates.ts'
import type { Filters, TypeTotals, SessionStats } from '../../../stats/training.ts'
import { beyondUsual, type Usual, usualOfProgram } from '../../../stats/usual.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit, Reader, Viewer } from '../../page.ts'
import { typeName, type Programs } from '../../text/names.ts'
import { type Days, daysName, type PeriodQuery } from '../../text/period.ts'
import { type Addresses, addressOf, fewAtOnce } from '../area.ts'
import { trainingFields } from '../../../archive/formats/tables.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import { type LegendItem, legendOf, resultLegend } from '../../charts/picture.ts'
import { boxes, dots, gradeRange, levels, type Range } from '../../charts/plane.ts'
import { barEnds, spanCell } from '../parts.ts'
import {
  SECOND,
  type TableColumn,
  fieldColumns,
  options,
  table,
  TYPED,
  paginate,
  tableFoot,
} from '../../layout/components.ts'
import { dateTime, distanceText, NONE, numberText, percentText } from '../../text/text.ts'

/** The list of training sessions: what its address says, its filters, and its table. */

/** The query of the training page. */
export interface TrainingQuery extends Filters, PeriodQuery {
  /** In discreet mode addresses do not name types either. */
  readonly discreet: boolean
  readonly measure: (typeof measures)[number][0]
  readonly sort: Sort
  readonly descending: boolean
}

/** What the bars of a period are of. */
const measures = [
  ['repetitions', 'Repetitions'],
  ['distance', 'Distance'],
] as const

const sorts = ['at', 'program', 'grade', 'reps', 'distance'] as const
type Sort = (typeof sorts)[number]

const results = { passed: 'Passed', 'not-passed': 'Not passed' }

function resultIn(passed: boolean): keyof typeof results {
  return passed ? 'passed' : 'not-passed'
}

export const trainingAddresses: Addresses<TrainingQuery> = {
  path: '/training',
  unfiltered: { type: undefined, program: undefined, passed: undefined },
  read({ query, viewer }) {
    const program = query.get('program') ?? ''
    const type = query.get('type') ?? ''
    const result = query.get('result')
    return {
      discreet: viewer.discreet,
      type: type.length > MAX_TYPE_LENGTH ? undefined : typeOf(type),
      program: /^-?\d{1,15}$/.test(program) ? Number(program) : undefined,
      passed: result === 'passed' ? true : result === 'not-passed' ? false : undefined,
      measure: query.get('measure') === 'distance' ? 'distance' : 'repetitions',
      sort: sorts.find(sort => sort === query.get('sort')) ?? 'at',
      descending: query.get('order') !== 'ascending',
    }
  },
  write(query, { discreet, type, program, passed, measure, sort, descending }) {
    if (type !== undefined) query.set('type', typeIn(type, discreet))
    if (program !== undefined) query.set('program', String(program))
    if (passed !== undefined) query.set('result', resultIn(passed))
    if (measure !== 'repetitions') query.set('measure', measure)
    if (sort !== 'at') query.set('sort', sort)
    if (!descending) query.set('order', 'ascending')
  },
}

/** Links that switch between what sessions are measured by. */
export function measureChoice(query: TrainingQuery): Html {
  return html`<nav class="choice" aria-label="Measure">${measures.map(([measure, title]) => {
    const current = measure === query.measure ? html` aria-current="true"` : nothing
    return html`<a href="${addressOf(trainingAddresses, query, { measure })}#${measure}"${current}>${title}</a>`
  })}</nav>`
}

/** The days and the filters of figures, for their marks. */
export function scopeOf(query: TrainingQuery, days: Days | undefined): string {
  const filters = new URLSearchParams()
  trainingAddresses.write(filters, { ...query, measure: 'repetitions', sort: 'at', descending: true })
  return filters.size === 0 ? daysName(days) : `${daysName(days)} ${filters}`
}

/** The fields of the filters; types and programs are those of all sessions. */
export function fieldsOf(
  viewer: Viewer,
  { type, program, passed }: TrainingQuery,
  programs: Programs,
  sessions: readonly SessionStats[],
  types: readonly TypeTotals[],
): Html {
  const { discreet } = viewer
  const select = (
    name: string,
    title: string,
    choices: Parameters<typeof options>[0],
    chosen?: string | number,
  ) => html`
    <label><span class="hidden">${title}</span>
      <select name="${name}">${options([['', `All ${title.toLowerCase()}s`], ...choices], chosen)}</select>
    </label>
  `
  const typesToChoose = typeChoices(types, type, discreet).map(
    name => [typeIn(name, discreet), typeName(viewer, name)] as const,
  )
  const programsToChoose = programChoices(program, programs, sessions).map(id => [id, programs.nameOf(id)] as const)
  return html`
    ${select('type', 'Type', typesToChoose, type && typeIn(type, discreet))}
    ${select('program', 'Program', programsToChoose, program)}
    ${select('result', 'Result', Object.entries(results), passed === undefined ? undefined : resultIn(passed))}
  `
}

const MAX_PROGRAM_CHOICES = 100

/** The programs to choose from: those of the sessions, the newest first, and the chosen one. */
function programChoices(chosen: number | undefined, { all }: Programs, sessions: readonly SessionStats[]): number[] {
  const used = new Set(sessions.map(session => session.program))
  const known = all.filter(({ id }) => used.has(id)).map(({ id }) => id)
  const choices = new Set([...known, ...used].slice(0, MAX_PROGRAM_CHOICES))
  if (chosen !== undefined) choices.add(chosen)
  return [...choices]
}

const MAX_TYPE_LENGTH = 64

/** A type in an address: its letter in discreet mode. */
function typeIn(type: string, discreet: boolean): string {
  const index = segmentTypes.indexOf(type)
  return discreet && index !== -1 ? `type-${String.fromCodePoint(0x61 + index)}` : type
}

function typeOf(text: string): string | undefined {
  if (text === '') return undefined
  return /^type-[a-z]$/.test(text) ? segmentTypes[(text.codePointAt(5) ?? 0) - 0x61] : text
}

function typeChoices(types: readonly TypeTotals[], chosen: string | undefined, discreet: boolean): string[] {
  const found = new Set(types.map(one => one.type))
  if (chosen !== undefined) found.add(chosen)
  const known = segmentTypes.filter(type => found.has(type))
  // Unknown types have no letter.
  if (discreet) return known
  return [...known, ...[...found].filter(type => type !== '' && !known.includes(type)).toSorted()]
}

/** A page of the table, which its headings sort. */
export async function sessionRows(
  visit: Visit,
  query: TrainingQuery,
  sessions: readonly SessionStats[],
  programs: Programs,
  alike: readonly SessionStats[],
): Promise<Html> {
  const paged = paginate(sorted(query, sessions, programs), visit.query)
  const indexOf = (id: number) => alike.findLastIndex(one => one.id === id)
  const usual = new Map(paged.rows.map(({ id }) => [id, usualOfProgram(alike, indexOf(id), ({ grade }) => grade)]))
  const lows = [...usual.values()].flatMap(one => one?.low ?? [])
  // From 70 % on most pages, so that they have one scale.
  const range = gradeRange([72, ...paged.rows.flatMap(({ grade }) => grade ?? []), ...lows])
  const rows = await Array.fromAsync(withRecords(visit, paged.rows))
  return html`
    ${legendOf([...(lows.length > 0 ? USUAL : []), ...resultLegend(rows.map(one => one.passed))])}
    ${table('Sessions', sessionColumns(visit, programs, { query, range, usual }), rows, { id: 'session-table' })}
    ${tableFoot(visit.path, visit.query, paged)}
  `
}

const USUAL: readonly LegendItem[] = [
  ['usual', 'Usual with the program'],
  ['', '▲ ▼ Above or below usual'],
]

interface ShownRows {
  readonly query: TrainingQuery
  /** Of their grades. */
  readonly range: Range
  /** What was usual before each session, by its identifier. */
  readonly usual: ReadonlyMap<number, Usual | undefined>
}

/** The headings sort the table, and its rows say what is notable, but in a file. */
export function sessionColumns(
  visit: Pick<Reader, 'viewer' | 'now'>,
  programs: Programs,
  page?: ShownRows,
): TableColumn<SessionRow>[] {
  const direction: TableColumn<never>['sorted'] = page?.query.descending === true ? 'descending' : 'ascending'
  const head = (sort: Sort, text: string, scale: Html = nothing) =>
    page === undefined
      ? { title: text }
      : {
          title: html`${sortLink(page.query, sort, text)}${scale}`,
          sorted: sort === page.query.sort ? direction : undefined,
        }
  return [
    {
      ...head('at', 'When'),
      line: 'first',
      cell: ({ id, at }) => html`<a href="/training/${id}">${dateTime(visit.viewer, at)}</a>`,
    },
    {
      ...head('program', 'Program'),
      line: 'second',
      cell: ({ program, isTyped }) => html`${programs.nameOf(program)}${isTyped ? TYPED : nothing}`,
    },
    {
      ...head('grade', 'Grade', page && barEnds(...page.range.map(percentText))),
      line: 'first',
      cell: session => gradeCell(session, page),
    },
    {
      ...head('reps', 'Repetitions'),
      ...SECOND,
      unit: ({ reps }) => (reps === 1 ? '\u00a0rep' : '\u00a0reps'),
      cell: ({ reps }) => numberText(reps),
    },
    { ...head('distance', 'Distance'), ...SECOND, cell: session => distanceOf(visit.viewer, session, true) },
    ...fieldColumns<SessionRow>(visit.viewer, trainingFields),
  ]
}

/** A grade, beside it how it stands to what is usual, and where it is from the lowest to the highest of the page; one beyond 0 and 100 % is at the end. */
function gradeCell({ id, grade, passed }: SessionStats, page: ShownRows | undefined): Html {
  const usual = page?.usual.get(id)
  const beyond = grade === null || usual === undefined ? 0 : beyondUsual(grade, usual)
  const [sign, name] = beyond > 0 ? ['▲', 'above'] : ['▼', 'below']
  const verdict = beyond === 0 ? '\u2003' : html` ${sign}<span class="hidden"> ${name} usual</span>`
  const text = html`<span class="result ${passed ? 'passed' : 'not-passed'}"><span class="hidden">${passed ? 'Passed' : 'Not passed'} </span>${percentText(grade)}${verdict}</span>`
  if (page === undefined) return text
  if (grade === null) return spanCell(text, nothing)
  const [low, high] = page.range
  const x = (value: number) => Math.max(0, Math.min(100, ((value - low) * 100) / (high - low)))
  const line = levels('grid', [{ x: [0, 100], y: 50 }])
  const band = usual && boxes('usual', [{ x: [x(usual.low), x(usual.high)], y: [0, 100] }])
  const dot = dots(passed ? 'filled' : 'hollow', { x, y: value => value }, [{ at: grade, value: 50 }])
  return spanCell(text, html`${line}${band}${dot}`)
}

interface SessionRow extends SessionStats {
  readonly record?: object | undefined
}

/** Sessions with their records, which are read only if tables show fields of them; a few at a time, because records can be long. */
export async function* withRecords(
  { store, pageAccess }: Pick<Reader, 'store' | 'pageAccess'>,
  sessions: readonly SessionStats[],
): AsyncGenerator<SessionRow> {
  if (trainingFields.length === 0) return yield* sessions
  const access = pageAccess.sessions('dtt')
  for await (const { session, document = '{}' } of fewAtOnce(sessions, ids => trainingRecords(store, access, ids))) {
    yield { ...session, record: JSON.parse(document) as object }
  }
}

/** A distance, marked if it may be an estimate. */
export function distanceOf(
  viewer: Viewer,
  { distance, approximate }: Pick<SessionStats, 'distance' | 'approximate'>,
  isInColumn = false,
): string {
  if (distance === null) return NONE
  return `${approximate ? '≈ ' : ''}${distanceText(viewer, distance, isInColumn)}`
}

function sortLink(filters: TrainingQuery, sort: Sort, text: string): Html {
  const isSorted = filters.sort === sort
  // Names begin with A, all else with what is newest or largest.
  const descending = isSorted ? !filters.descending : sort !== 'program'
  const mark = isSorted ? (filters.descending ? '↓' : '↑') : ''
  return html`<a class="sort" data-keep="${sort}" href="${addressOf(trainingAddresses, filters, { sort, descending })}#sessions">${text}<span aria-hidden="true"> ${mark}</span></a>`
}

/** Sessions in the order of the table; equal ones the newest first. */
export function sorted(
  { sort, descending }: TrainingQuery,
  sessions: readonly SessionStats[],
  programs: Programs,
): readonly SessionStats[] {
  if (sort === 'at') return descending ? sessions.toReversed() : sessions
  const nameOf = ({ program }: SessionStats) => programs.nameOf(program).toLowerCase()
  const names = sort === 'program' ? [...new Set(sessions.map(nameOf))].toSorted() : []
  const ranks = new Map(names.map((name, rank) => [name, rank]))
  const keyOf: Record<typeof sort, (session: SessionStats) => number> = {
    program: session => ranks.get(nameOf(session)) ?? 0,
    grade: ({ grade }) => grade ?? -1,
    reps: ({ reps }) => reps,
    distance: ({ distance }) => distance ?? -1,
  }
  const keyed = sessions.toReversed().map(session => ({ session, key: keyOf[sort](session) }))
  const sign = descending ? -1 : 1
  return keyed.toSorted((a, b) => sign * (a.key - b.key)).map(({ session }) => session)
}
