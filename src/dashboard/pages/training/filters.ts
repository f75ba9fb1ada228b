import { segmentKinds } from '../../../contract/training-templates.ts'
import type { Filters, KindTotals, SessionStats } from '../../../stats/training.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit } from '../../page.ts'
import { kindName } from '../../text/names.ts'
import { type Days, daysName, type PeriodQuery } from '../../text/period.ts'
import type { Programs } from '../../text/program-names.ts'
import type { Addresses } from '../area.ts'

/** The query of the training page. */
export interface TrainingQuery extends Filters, PeriodQuery {
  /** In discreet mode addresses do not name kinds either. */
  readonly discreet: boolean
  readonly measure: Measure
  readonly sort: Sort
  readonly descending: boolean
}

/** What the bars of a period are of. */
export const measures = { repetitions: 'Repetitions', distance: 'Distance' } as const
export type Measure = keyof typeof measures

const sorts = ['at', 'program', 'result', 'grade', 'segments', 'reps', 'distance'] as const
export type Sort = (typeof sorts)[number]

export const trainingAddresses: Addresses<TrainingQuery> = {
  path: '/training',
  unfiltered: { kind: undefined, program: undefined, passed: undefined },
  read({ query, viewer }) {
    const program = query.get('program') ?? ''
    const kind = query.get('kind') ?? ''
    const result = query.get('result')
    return {
      discreet: viewer.discreet,
      kind: kind.length > MAX_KIND_LENGTH ? undefined : kindOf(kind),
      program: /^-?\d{1,15}$/.test(program) ? Number(program) : undefined,
      passed: result === 'passed' ? true : result === 'not-passed' ? false : undefined,
      measure: query.get('measure') === 'distance' ? 'distance' : 'repetitions',
      sort: sorts.find(sort => sort === query.get('sort')) ?? 'at',
      descending: query.get('order') !== 'ascending',
    }
  },
  write(query, { discreet, kind, program, passed, measure, sort, descending }) {
    if (kind !== undefined) query.set('kind', kindIn(kind, discreet))
    if (program !== undefined) query.set('program', String(program))
    if (passed !== undefined) query.set('result', passed ? 'passed' : 'not-passed')
    if (measure !== 'repetitions') query.set('measure', measure)
    if (sort !== 'at') query.set('sort', sort)
    if (!descending) query.set('order', 'ascending')
  },
}

/** The days and the filters of figures, for their marks. */
export function scopeOf(query: TrainingQuery, days: Days | undefined): string {
  const filters = new URLSearchParams()
  trainingAddresses.write(filters, { ...query, measure: 'repetitions', sort: 'at', descending: true })
  return filters.size === 0 ? daysName(days) : `${daysName(days)} ${filters}`
}

/** The fields of the filters; kinds and programs are those of the period. */
export function filterFields(
  visit: Visit,
  { kind, program, passed }: TrainingQuery,
  programs: Programs,
  sessions: readonly SessionStats[],
  kinds: readonly KindTotals[],
): Html {
  const { discreet } = visit.viewer
  const select = (name: string, title: string, options: readonly Html[]) => html`
    <label><span class="hidden">${title}</span>
      <select name="${name}">
        <option value="">All ${title.toLowerCase()}s</option>
        ${options}
      </select>
    </label>
  `
  const choices = programChoices(program, programs, sessions)
  return html`
    ${select(
      'kind',
      'Kind',
      kindChoices(kinds, kind, discreet).map(name =>
        option(kindIn(name, discreet), kindName(visit.viewer, name), name === kind),
      ),
    )}
    ${select(
      'program',
      'Program',
      choices.map(id => option(String(id), programs.nameOf(id), id === program)),
    )}
    ${select('result', 'Result', [option('passed', 'Passed', passed === true), option('not-passed', 'Not passed', passed === false)])}
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
