import { segmentKinds } from '../../contract/training-templates.ts'
import { dayFrom, lastPeriods } from '../../stats/periods.ts'
import type { Filters, SessionStats } from '../../stats/training.ts'
import { html, type Html, nothing } from '../html.ts'
import { kindName } from '../names.ts'
import type { Viewer } from '../page.ts'
import { readPage } from '../paging.ts'
import type { Programs } from '../program-names.ts'
import { dateText } from '../text.ts'

/** The query of the training page. Invalid values are ignored. */
export interface TrainingQuery extends Filters {
  /** In discreet mode addresses do not name kinds either. */
  readonly discreet: boolean
  readonly range: Range
  /** One day, as `YYYY-MM-DD`, in place of the range. */
  readonly day?: string | undefined
  readonly sort: Sort
  readonly descending: boolean
  readonly page: number
}

/** Whole weeks, and the current one so far. */
export const ranges = {
  '4w': { title: '4 weeks', weeks: 4 },
  '12w': { title: '12 weeks', weeks: 12 },
  '6m': { title: '6 months', weeks: 26 },
  '1y': { title: '1 year', weeks: 52 },
  all: { title: 'All', weeks: undefined },
} as const
type Range = keyof typeof ranges

const sorts = ['at', 'program', 'result', 'grade', 'segments', 'reps', 'distance'] as const
export type Sort = (typeof sorts)[number]

const DEFAULT_RANGE = '12w'

export function readTrainingQuery(query: URLSearchParams, { timeZone, discreet }: Viewer): TrainingQuery {
  const range = query.get('range') ?? DEFAULT_RANGE
  const day = query.get('day') ?? ''
  const program = query.get('program') ?? ''
  const kind = query.get('kind') ?? ''
  const result = query.get('result')
  return {
    discreet,
    range: isRange(range) ? range : DEFAULT_RANGE,
    day: dayFrom(day, timeZone) === undefined ? undefined : day,
    kind: kind.length > MAX_KIND_LENGTH ? undefined : kindOf(kind),
    program: /^\d{1,15}$/.test(program) ? Number(program) : undefined,
    passed: result === 'passed' ? true : result === 'not-passed' ? false : undefined,
    sort: sorts.find(sort => sort === query.get('sort')) ?? 'at',
    descending: query.get('order') !== 'ascending',
    page: readPage(query),
  }
}

/** The address of the page for a query, without defaults. */
export function addressOf(filters: TrainingQuery, changes: Partial<TrainingQuery> = {}, path = '/training'): string {
  // A changed query starts at the first page.
  const { discreet, range, day, kind, program, passed, sort, descending, page } = { ...filters, page: 1, ...changes }
  const query = new URLSearchParams()
  if (day !== undefined) query.set('day', day)
  else if (range !== DEFAULT_RANGE) query.set('range', range)
  if (kind !== undefined) query.set('kind', kindIn(kind, discreet))
  if (program !== undefined) query.set('program', String(program))
  if (passed !== undefined) query.set('result', passed ? 'passed' : 'not-passed')
  if (sort !== 'at') query.set('sort', sort)
  if (!descending) query.set('order', 'ascending')
  if (page > 1) query.set('page', String(page))
  return query.size === 0 ? path : `${path}?${query}`
}

/** When a range or a day starts and ends, and when the equally long time before it starts. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly before: number
}

export function spanOf({ range, day }: TrainingQuery, now: number, timeZone: string): Span | undefined {
  const ends = day === undefined ? undefined : dayFrom(day, timeZone)
  if (ends !== undefined) return { from: ends[0], to: ends[1], before: 2 * ends[0] - ends[1] }
  const { weeks } = ranges[range]
  if (weeks === undefined) return undefined
  const from = lastPeriods('week', weeks + 1, now, timeZone)[0] ?? now
  return { from, to: now + 1, before: 2 * from - now }
}

/** The filters: links and a form, each of which keeps the other's values. */
export function filterBar(
  viewer: Viewer,
  filters: TrainingQuery,
  programs: Programs,
  sessions: readonly SessionStats[],
): Html {
  const { range, day, kind, program, passed, sort, descending } = filters
  const used = new Set(sessions.map(session => session.program))
  const own = programs.all
    .filter(({ id, ownerId }) => used.has(id) || ownerId === viewer.subject.id)
    .map(({ id }) => id)
  const choices = [...new Set([...own, ...used, ...(program === undefined ? [] : [program])])]
  return html`
    <div class="filters">
      <nav class="choice" aria-label="Range">${Object.entries(ranges).map(([name, { title }]) =>
        // The key is one of the ranges.
        rangeLink(filters, name as Range, title, day === undefined && name === range),
      )}</nav>
      ${
        day === undefined
          ? nothing
          : html`<a class="chip" href="${addressOf(filters, { day: undefined })}">${dateText({ timeZone: 'UTC' }, Date.parse(day))}<span aria-hidden="true"> ×</span><span class="hidden">, show the whole range</span></a>`
      }
      <form method="get" action="/training" data-submit-on-change>
        ${hidden({ day, range: day === undefined && range !== DEFAULT_RANGE ? range : undefined, sort: sort === 'at' ? undefined : sort, order: descending ? undefined : 'ascending' })}
        <label><span class="hidden">Kind</span>
          <select name="kind">
            <option value="">All kinds</option>
            ${kindChoices(sessions, kind, viewer.discreet).map(name => option(kindIn(name, viewer.discreet), kindName(viewer, name), name === kind))}
          </select>
        </label>
        <label><span class="hidden">Program</span>
          <select name="program">
            <option value="">All programs</option>
            ${choices.map(id => option(String(id), programs.nameOf(id), id === program))}
          </select>
        </label>
        <label><span class="hidden">Result</span>
          <select name="result">
            <option value="">All results</option>
            ${option('passed', 'Passed', passed === true)}
            ${option('not-passed', 'Not passed', passed === false)}
          </select>
        </label>
        <button class="small no-script">Show</button>
      </form>
      ${
        kind === undefined && program === undefined && passed === undefined
          ? nothing
          : html`<a class="clear" href="${addressOf(filters, { kind: undefined, program: undefined, passed: undefined })}">Clear filters</a>`
      }
    </div>
  `
}

const MAX_KIND_LENGTH = 64

/** A kind in an address: its letter in discreet mode. */
function kindIn(kind: string, discreet: boolean): string {
  const place = segmentKinds.indexOf(kind)
  return discreet && place !== -1 ? `type-${String.fromCodePoint(0x61 + place)}` : kind
}

function kindOf(text: string): string | undefined {
  if (text === '') return undefined
  return /^type-[a-z]$/.test(text) ? segmentKinds[(text.codePointAt(5) ?? 0) - 0x61] : text
}

function isRange(text: string): text is Range {
  return Object.hasOwn(ranges, text)
}

function rangeLink(filters: TrainingQuery, range: Range, title: string, current: boolean): Html {
  const address = addressOf(filters, { range, day: undefined })
  return html`<a href="${address}"${current ? html` aria-current="true"` : nothing}>${title}</a>`
}

function kindChoices(sessions: readonly SessionStats[], chosen: string | undefined, discreet: boolean): string[] {
  const found = new Set(sessions.flatMap(({ kinds }) => kinds.map(({ kind }) => kind)))
  if (chosen !== undefined) found.add(chosen)
  const known = segmentKinds.filter(kind => found.has(kind))
  // Unknown kinds have no letter.
  if (discreet) return known
  return [...known, ...[...found].filter(kind => kind !== '' && !known.includes(kind)).toSorted()]
}

function option(value: string, title: string, selected: boolean): Html {
  return html`<option value="${value}"${selected ? html` selected` : nothing}>${title}</option>`
}

function hidden(values: Readonly<Record<string, string | undefined>>): Html[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}">`],
  )
}
