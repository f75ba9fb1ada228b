import { segmentKinds } from '../../contract/training-templates.ts'
import type { Filters, KindTotals, SessionStats } from '../../stats/training.ts'
import { html, type Html, nothing } from '../html.ts'
import { kindName } from '../text/names.ts'
import type { Visit, Viewer } from '../page.ts'
import { pageNumber } from '../paging.ts'
import type { Programs } from '../text/program-names.ts'
import {
  DEFAULT_RANGE,
  periodBar,
  periodFields,
  type PeriodQuery,
  compareField,
  readPeriodQuery,
  writePeriod,
} from './training-period.ts'
import { dateText } from '../text/text.ts'

/** The query of the training page. Invalid values are ignored. */
export interface TrainingQuery extends Filters, PeriodQuery {
  /** In discreet mode addresses do not name kinds either. */
  readonly discreet: boolean
  /** Whether grades are drawn from 0 to 100, and not just where they are. */
  readonly isFullScale: boolean
  readonly sort: Sort
  readonly descending: boolean
  readonly page: number
}

const sorts = ['at', 'program', 'result', 'grade', 'segments', 'reps', 'distance'] as const
export type Sort = (typeof sorts)[number]

export function readTrainingQuery(query: URLSearchParams, { timeZone, discreet }: Viewer): TrainingQuery {
  const program = query.get('program') ?? ''
  const kind = query.get('kind') ?? ''
  const result = query.get('result')
  return {
    discreet,
    ...readPeriodQuery(query, timeZone),
    isFullScale: query.get('scale') === 'full',
    kind: kind.length > MAX_KIND_LENGTH ? undefined : kindOf(kind),
    program: /^\d{1,15}$/.test(program) ? Number(program) : undefined,
    passed: result === 'passed' ? true : result === 'not-passed' ? false : undefined,
    sort: sorts.find(sort => sort === query.get('sort')) ?? 'at',
    descending: query.get('order') !== 'ascending',
    page: pageNumber(query),
  }
}

/** The address of the page for a query, without defaults. */
export function addressOf(filters: TrainingQuery, changes: Partial<TrainingQuery> = {}, path = '/training'): string {
  // A changed query starts at the first page.
  const changed = { ...filters, page: 1, ...changes }
  const { discreet, kind, program, passed, sort, descending, page, isFullScale } = changed
  const query = new URLSearchParams()
  writePeriod(query, changed)
  if (kind !== undefined) query.set('kind', kindIn(kind, discreet))
  if (program !== undefined) query.set('program', String(program))
  if (passed !== undefined) query.set('result', passed ? 'passed' : 'not-passed')
  if (isFullScale) query.set('scale', 'full')
  if (sort !== 'at') query.set('sort', sort)
  if (!descending) query.set('order', 'ascending')
  if (page > 1) query.set('page', String(page))
  return query.size === 0 ? path : `${path}?${query}`
}

/** The address of a week, with placeholders for its first and last day. */
export function weekAddress(filters: TrainingQuery): string {
  const query = addressOf(filters, {
    range: DEFAULT_RANGE,
    day: undefined,
    from: undefined,
    to: undefined,
    compare: undefined,
  })
  return `${query}${query.includes('?') ? '&' : '?'}from={from}&to={to}`
}

/** The filters: links and a form, each of which keeps the other's values. */
export function filterBar(
  visit: Visit,
  filters: TrainingQuery,
  programs: Programs,
  sessions: readonly SessionStats[],
  kinds: readonly KindTotals[],
): Html {
  const { viewer } = visit
  const { day, kind, program, passed } = filters
  const choices = programChoices(visit, program, programs, sessions)
  return html`
    <div class="filters">
      ${periodBar(visit, filters, changes => addressOf(filters, changes), dateFields(visit, filters))}
      ${
        day === undefined
          ? nothing
          : html`<a class="chip" href="${addressOf(filters, { day: undefined })}">${dateText({ timeZone: 'UTC' }, Date.parse(day))}<span aria-hidden="true"> ×</span><span class="hidden">, show the whole range</span></a>`
      }
      <form method="get" action="/training" data-submit-on-change>
        ${hidden(addressOf(filters, { kind: undefined, program: undefined, passed: undefined, compare: undefined }))}
        <label><span class="hidden">Kind</span>
          <select name="kind">
            <option value="">All kinds</option>
            ${kindChoices(kinds, kind, viewer.discreet).map(name => option(kindIn(name, viewer.discreet), kindName(viewer, name), name === kind))}
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
        ${compareField(filters)}
        <button class="small">Show</button>
      </form>
      ${
        kind === undefined && program === undefined && passed === undefined
          ? nothing
          : html`<a class="clear" href="${addressOf(filters, { kind: undefined, program: undefined, passed: undefined })}">Clear filters</a>`
      }
    </div>
  `
}

/** The first and last day, in a menu: fields of dates take long to draw, and few people need them. */
function dateFields({ viewer, now }: Visit, filters: TrainingQuery): Html {
  return html`
  <details class="menu dates">
    <summary>Dates</summary>
    <form method="get" action="/training" class="sheet">
      ${hidden(addressOf(filters, { range: DEFAULT_RANGE, day: undefined, from: undefined, to: undefined }))}
      ${periodFields(viewer, now, filters)}
      <button class="small">Show</button>
    </form>
  </details>
  `
}

const MAX_PROGRAM_CHOICES = 100

/** The programs to choose from, the newest first: those of the sessions before others. */
function programChoices(
  { viewer }: Visit,
  chosen: number | undefined,
  { all }: Programs,
  sessions: readonly SessionStats[],
): number[] {
  const used = new Set(sessions.map(session => session.program))
  const own = all.filter(({ id, ownerId }) => used.has(id) || ownerId === viewer.subject.id).map(({ id }) => id)
  const others = own.filter(id => !used.has(id))
  const most = new Set([...own.filter(id => used.has(id)), ...used, ...others].slice(0, MAX_PROGRAM_CHOICES))
  const shown = [...new Set([...own, ...used])].filter(id => most.has(id))
  return chosen === undefined || most.has(chosen) ? shown : [...shown, chosen]
}

const MAX_KIND_LENGTH = 64

/** A kind in an address: its letter in discreet mode. */
function kindIn(kind: string, discreet: boolean): string {
  const index = segmentKinds.indexOf(kind)
  return discreet && index !== -1 ? `type-${String.fromCodePoint(0x61 + index)}` : kind
}

function kindOf(text: string): string | undefined {
  if (text === '') return undefined
  return /^type-[a-z]$/.test(text) ? segmentKinds[(text.codePointAt(5) ?? 0) - 0x61] : text
}

function kindChoices(kinds: readonly KindTotals[], chosen: string | undefined, discreet: boolean): string[] {
  const found = new Set(kinds.map(one => one.kind))
  if (chosen !== undefined) found.add(chosen)
  const known = segmentKinds.filter(kind => found.has(kind))
  // Unknown kinds have no letter.
  if (discreet) return known
  return [...known, ...[...found].filter(kind => kind !== '' && !known.includes(kind)).toSorted()]
}

function option(value: string, title: string, selected: boolean): Html {
  return html`<option value="${value}"${selected ? html` selected` : nothing}>${title}</option>`
}

/** The fields of an address, for a form that changes others. */
function hidden(address: string): Html[] {
  const query = new URLSearchParams(address.split('?')[1] ?? '')
  return [...query].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}
