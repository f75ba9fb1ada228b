import { segmentKinds } from '../../../contract/training-templates.ts'
import type { Filters, KindTotals, SessionStats } from '../../../stats/training.ts'
import { html, type Html, nothing } from '../../html.ts'
import { kindName } from '../../text/names.ts'
import type { Visit } from '../../page.ts'
import { pageNumber } from '../../paging.ts'
import type { Programs } from '../../text/program-names.ts'
import { DEFAULT_PRESET, type Period, type PeriodQuery, readPeriod, writePeriod } from '../../text/period.ts'
import { compareField, hiddenFields, periodBar } from '../period-bar.ts'

/** The query of the training page. Invalid values are ignored. */
export interface TrainingQuery extends Filters, PeriodQuery {
  /** In discreet mode addresses do not name kinds either. */
  readonly discreet: boolean
  readonly sort: Sort
  readonly descending: boolean
  readonly page: number
}

const sorts = ['at', 'program', 'result', 'grade', 'segments', 'reps', 'distance'] as const
export type Sort = (typeof sorts)[number]

export function readTrainingQuery({ query, viewer, now }: Visit): TrainingQuery {
  const program = query.get('program') ?? ''
  const kind = query.get('kind') ?? ''
  const result = query.get('result')
  return {
    discreet: viewer.discreet,
    ...readPeriod(query, now, viewer.timeZone),
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
  const { discreet, kind, program, passed, sort, descending, page } = changed
  const query = new URLSearchParams()
  writePeriod(query, changed)
  if (kind !== undefined) query.set('kind', kindIn(kind, discreet))
  if (program !== undefined) query.set('program', String(program))
  if (passed !== undefined) query.set('result', passed ? 'passed' : 'not-passed')
  if (sort !== 'at') query.set('sort', sort)
  if (!descending) query.set('order', 'ascending')
  if (page > 1) query.set('page', String(page))
  return query.size === 0 ? path : `${path}?${query}`
}

/** The address of a week, with placeholders for its first and last day. */
export function weekAddress(filters: TrainingQuery): string {
  const address = addressOf(filters, { preset: DEFAULT_PRESET, days: undefined, compare: undefined })
  return `${address}${address.includes('?') ? '&' : '?'}from={from}&to={to}`
}

const NO_FILTERS = { kind: undefined, program: undefined, passed: undefined } as const

export function isFiltered({ kind, program, passed }: Filters): boolean {
  return kind !== undefined || program !== undefined || passed !== undefined
}

export function clearLink(filters: TrainingQuery): Html {
  return html`<a class="clear" href="${addressOf(filters, NO_FILTERS)}">Clear filters</a>`
}

/** The filters: links and a form, each of which keeps the other's values. */
export function filterBar(
  visit: Visit,
  filters: TrainingQuery,
  period: Period | undefined,
  programs: Programs,
  sessions: readonly SessionStats[],
  kinds: readonly KindTotals[],
): Html {
  const { viewer } = visit
  const { kind, program, passed } = filters
  const choices = programChoices(visit, program, programs, sessions)
  return html`
    <div class="filters">
      ${periodBar({ query: filters, period, addressOf: changes => addressOf(filters, changes) })}
      <form method="get" action="/training" data-submit-on-change>
        ${hiddenFields(addressOf(filters, { ...NO_FILTERS, compare: undefined }))}
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
      ${isFiltered(filters) ? clearLink(filters) : nothing}
    </div>
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
