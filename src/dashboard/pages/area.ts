import type { Area as AreaName } from '../../contract/areas.ts'
import { formatDate } from '../../contract/time.ts'
import type { CsvCells } from '../../archive/formats/csv.ts'
import { PartSize } from '../../archive/part-size.ts'
import { pause } from '../../fairness.ts'
import { csvFile } from '../files.ts'
import { figure, html, type Html, nothing, type Part } from '../html.ts'
import { emptyState, hiddenFields, noRecords, stat, stats } from '../layout/components.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../page.ts'
import {
  comparedDays,
  comparedText,
  type Days,
  daysName,
  daysText,
  DEFAULT_PRESET,
  type Period,
  periodFor,
  periodProblem,
  type PeriodQuery,
  presetNames,
  presetTitle,
  readPeriod,
  stepFrom,
  writePeriod,
} from '../text/period.ts'
import { NONE } from '../text/text.ts'
import type { Words } from './parts.ts'

/** Training and Locks: sessions of a period, with filters, figures, pictures, a table, and the same as a file. */

/** What the addresses of an area say beside the period. Invalid values are ignored. */
export interface Addresses<Query extends PeriodQuery> {
  readonly path: string
  readonly read: (visit: Pick<Visit, 'query'> & { readonly viewer: Viewer }) => Omit<Query, keyof PeriodQuery>
  readonly write: (query: URLSearchParams, shown: Query) => void
  readonly unfiltered: Partial<Query>
}

/** The address of a page for a query, without defaults. A changed query starts at the first page. */
export function addressOf<Query extends PeriodQuery>(
  { path, write }: Addresses<Query>,
  shown: Query,
  changes: Partial<Query> = {},
): string {
  const changed = { ...shown, ...changes }
  const query = new URLSearchParams()
  writePeriod(query, changed)
  write(query, changed)
  return query.size === 0 ? path : `${path}?${query}`
}

/** The address of some days, with `{from}` and `{to}` for them. */
export function daysAddress<Query extends PeriodQuery>(addresses: Addresses<Query>, shown: Query): string {
  const plain: Partial<PeriodQuery> = { preset: DEFAULT_PRESET, days: undefined }
  const address = addressOf(addresses, { ...shown, ...plain })
  return `${address}${address.includes('?') ? '&' : '?'}from={from}&to={to}`
}

function queryOf<Query extends PeriodQuery>({ read }: Addresses<Query>, visit: Visit): Query {
  // The query of an area is what it reads and the period.
  return { ...readPeriod(visit.query, visit.now, visit.viewer.timeZone), ...read(visit) } as Query
}

/** A session for a file, with the text of its record, which may be removed meanwhile. */
export interface WithDocument<Session> {
  readonly session: Session
  readonly document: string | undefined
}

export interface Area<Query extends PeriodQuery, Shown extends { sessions: readonly unknown[] }, Session> {
  readonly section: 'training' | 'locks'
  readonly area: AreaName
  readonly title: string
  readonly list: string
  readonly addresses: Addresses<Query>
  /** What the page will show, where there are no records yet. */
  readonly nothingYet: (viewer: Viewer) => readonly [title: string, text: string, example: Html]
  /** What is shown of a period, all days if it is undefined; undefined if there are no records at all. */
  readonly read: (visit: Visit, query: Query, period: Period | undefined) => Promise<Shown | undefined>
  /** The title and the text where no session is in the period, or matches. */
  readonly none: (viewer: Viewer, shown: Shown) => readonly [title: string, text: Part]
  /** The heading, if it says more than the title, and below it: what does not depend on the period. */
  readonly heading?: (visit: Visit, shown: Shown) => Html
  readonly lead?: (visit: Visit, shown: Shown) => Html | undefined
  readonly fields?: (visit: Visit, shown: Shown) => Html
  readonly tiles: (viewer: Viewer, shown: Shown) => Html
  /** Of several days. */
  readonly pictures: (visit: Visit, shown: Shown) => Html
  readonly table: (visit: Visit, shown: Shown) => Promise<Html>
  readonly file: {
    readonly header: (viewer: Viewer) => readonly string[]
    /** Notes at once what it reads, because a read noted after the response has begun is lost. */
    readonly sessions: (visit: Visit, query: Query, period: Period | undefined) => AsyncIterable<WithDocument<Session>>
    readonly cells: (visit: Visit) => Promise<(item: WithDocument<Session>) => CsvCells>
  }
}

export function areaPages<Query extends PeriodQuery, Shown extends { sessions: readonly unknown[] }, Session>(
  area: Area<Query, Shown, Session>,
): readonly DashboardPage[] {
  const { section, addresses, file } = area
  const { path } = addresses
  const shared = { section, area: area.area }
  return [
    { ...shared, path, reads: 'list', handler: visit => showArea(area, visit) },
    {
      ...shared,
      reads: 'export',
      isDownload: true,
      path: `${path}.csv`,
      async handler(visit) {
        const query = queryOf(addresses, visit)
        const sessions = file.sessions(visit, query, periodFor(query, visit.now, visit.viewer.timeZone))
        return csvFile(visit, section, file.header(visit.viewer), sessions, await file.cells(visit))
      },
    },
  ]
}

/** Sessions with the texts of their records, read a few at a time, because records can be long. */
export async function* fewAtOnce<Session extends { readonly id: number }>(
  sessions: readonly Session[],
  read: (ids: readonly number[]) => Promise<ReadonlyMap<number, string>>,
): AsyncGenerator<WithDocument<Session>> {
  const size = new PartSize()
  for (let start = 0; start < sessions.length;) {
    const some = sessions.slice(start, start + size.rows)
    start += some.length
    const documents = await read(some.map(({ id }) => id))
    size.adaptTo(documents)
    for (const session of some) yield { session, document: documents.get(session.id) }
    await pause()
  }
}

async function showArea<Query extends PeriodQuery, Shown extends { sessions: readonly unknown[] }, Session>(
  area: Area<Query, Shown, Session>,
  visit: Visit,
) {
  const { viewer, now } = visit
  const { title, list, addresses } = area
  const query = queryOf(addresses, visit)
  const period = periodFor(query, now, viewer.timeZone)
  const problem = period && periodProblem(period)
  const shown = await area.read(visit, query, period)
  if (shown === undefined) return view({ title, body: noRecords(viewer, ...area.nothingYet(viewer)) })
  const isEmpty = shown.sessions.length === 0
  const [none, text] = area.none(viewer, shown)
  const isOneDay = period !== undefined && period.first === period.last
  return view({
    title,
    heading: area.heading?.(visit, shown),
    lead: area.lead?.(visit, shown),
    body: html`
      ${filterBar(addresses, query, period, area.fields?.(visit, shown))}
      ${problem === undefined || isEmpty ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
      ${
        isEmpty
          ? emptyState(none, problem ?? text, clearLink(addresses, query))
          : html`
              ${area.tiles(viewer, shown)}
              ${isOneDay ? nothing : area.pictures(visit, shown)}
              <section class="card" id="sessions">
                <div class="card-head"><h2>${list}</h2><p class="downloads"><a href="${addressOf(addresses, query).replace(/(?=\?|$)/, '.csv')}" download>CSV</a></p></div>
                ${await area.table(visit, shown)}
              </section>
            `
      }
    `,
  })
}

export function isFiltered<Query extends PeriodQuery>({ unfiltered }: Addresses<Query>, shown: Query): boolean {
  return Object.entries(unfiltered).some(([name, none]) => shown[name as keyof Query] !== none)
}

function clearLink<Query extends PeriodQuery>(addresses: Addresses<Query>, shown: Query): Html {
  if (!isFiltered(addresses, shown)) return nothing
  return html`<a class="clear" href="${addressOf(addresses, shown, addresses.unfiltered)}">Clear filters</a>`
}

/** The filters: links and a form, each of which keeps the other's values. */
function filterBar<Query extends PeriodQuery>(
  addresses: Addresses<Query>,
  query: Query,
  period: Period | undefined,
  fields: Html | undefined,
): Html {
  const { path, unfiltered } = addresses
  const addressFor = (changes: Partial<PeriodQuery>) => addressOf(addresses, { ...query, ...changes })
  return html`
    <div class="filters">
      ${stepper(query, period, addressFor)}
      ${presetLinks(query, addressFor)}
      ${
        fields &&
        html`<details class="fold">
        <summary>Filters${isFiltered(addresses, query) && ' (on)'}</summary>
        <form method="get" action="${path}" data-submit-on-change>
          ${hiddenFields(addressOf(addresses, query, unfiltered))}
          ${fields}
          <button class="small no-script">Show</button>
        </form>
        ${clearLink(addresses, query)}
      </details>`
      }
    </div>
  `
}

export interface Figure extends Words {
  readonly name: string
  /** What it is, for its mark. */
  readonly of: string
  /** Null if it is not known. */
  readonly value: number | null
  /** What it was in the days before; undefined where it cannot be compared. */
  readonly before?: number | null | undefined
  readonly note?: Part | undefined
}

/** The days before those of a page, with which its figures are compared. */
export interface DaysBefore {
  readonly text: string
  readonly scope: string
  readonly address: string
}

export function daysBefore<Query extends PeriodQuery>(
  addresses: Addresses<Query>,
  query: Query,
  period: Period | undefined,
  scopeOf: (days: Days) => string = daysName,
): DaysBefore | undefined {
  if (period === undefined) return undefined
  const compared = comparedDays(period)
  const changes: Partial<PeriodQuery> = { days: [compared.first, compared.last] }
  const address = addressOf(addresses, { ...query, ...changes })
  return { text: comparedText(period), scope: scopeOf(compared), address }
}

/** Figures of the days and filters of `scope`, each beside what it was before; the first one answers what somebody opens the page for, or all of them do. */
export function figureTiles(figures: readonly Figure[], scope: string, days?: DaysBefore, areAllLarge = false): Html {
  return stats(
    ...figures.map((shown, index) => {
      const { name, of, value, text, note } = shown
      const verdict = days && verdictOf(shown, days, index === 0)
      const main = value === null ? NONE : figure(`${of} ${scope}`, value, text(value))
      const look = areAllLarge ? 'stat large' : index === 0 ? 'stat main' : 'stat'
      return stat(name, main, verdict && note ? html`${verdict}<br>${note}` : (verdict ?? note), look)
    }),
  )
}

/** `down from 62 % in the 12 weeks before`, `same as in the 12 weeks before (18,800)` where both read the same; once that was said, `down from 62 %`. */
function verdictOf({ of, value, before, text }: Figure, { text: when, scope, address }: DaysBefore, isFirst: boolean) {
  if (before == null || value === null) return undefined
  const then = html`<a href="${address}">${figure(`${of} ${scope}`, before, text(before))}</a>`
  if (text(value) === text(before)) return html`same as ${isFirst ? when : 'before'} (${then})`
  return html`${value > before ? 'up' : 'down'} from ${then}${isFirst && ` ${when}`}`
}

type AddressFor = (changes: Partial<PeriodQuery>) => string

function presetLinks(query: PeriodQuery, addressFor: AddressFor): Html {
  return html`<nav class="choice" aria-label="Period">${presetNames.map(preset => {
    const isShown = query.days === undefined && query.preset === preset
    const [short, title] = [presetTitle(preset, 'short'), presetTitle(preset)]
    return html`<a href="${addressFor({ preset, days: undefined })}"${short === title ? nothing : html` title="${title}"`}${isShown ? html` aria-current="true"` : nothing}>${short}</a>`
  })}</nav>`
}

/** The days that are shown, between arrows to as many before and after them. They open fields for the first and the last one. */
function stepper(query: PeriodQuery, period: Period | undefined, addressFor: AddressFor): Html {
  if (period === undefined || period.length === 0)
    return html`<div class="stepper">${dateFields('All days', query, addressFor)}</div>`
  const [days, year] = [daysText(period), formatDate(period.last).slice(0, 4)]
  const address = (steps: -1 | 1) => {
    const step = stepFrom(period, steps)
    return step && addressFor(step)
  }
  return html`
    <nav class="stepper" aria-label="Steps">
      ${stepTo('prev', address(-1), 'Period before')}
      ${dateFields(html`${days}${days.includes(year) ? nothing : html`<span class="on-paper"> ${year}</span>`}`, query, addressFor, period)}
      ${stepTo('next', address(1), 'Period after')}
    </nav>
  `
}

/** An arrow that leads to the page before or after this one, also by its key; a mark without a link where there is none. */
export function stepTo(rel: 'prev' | 'next', address: string | undefined, name: string): Html {
  const [sign, key] = rel === 'prev' ? ['‹', 'ArrowLeft'] : ['›', 'ArrowRight']
  return address === undefined
    ? html`<span class="end" aria-hidden="true">${sign}</span>`
    : html`<a href="${address}" data-shortcut="${key.toLowerCase()}" aria-keyshortcuts="${key}" rel="${rel}"><span aria-hidden="true">${sign}</span><span class="hidden">${name}</span></a>`
}

/** Steps from the page of a record to the one before and the one after it, among those of its kind, the oldest first. */
export function recordSteps(
  { id, query, sectionStart }: Visit,
  records: readonly { readonly id: number }[],
  kind: string,
): Html {
  const own = records.findIndex(one => one.id === id)
  const view = query.get('view')
  const step = (rel: 'prev' | 'next', index: number, name: string) => {
    const to = own === -1 ? undefined : records[index]
    const search = view === null ? '' : `?view=${encodeURIComponent(view)}`
    return stepTo(rel, to && `${sectionStart.path}/${to.id}${search}`, name)
  }
  return html`<nav class="stepper" aria-label="${kind}">${step('prev', own - 1, 'Earlier')}${step('next', own + 1, 'Later')}</nav>`
}

/** In a menu: fields of dates take long to draw, and few people need them. */
function dateFields(shown: Part, query: PeriodQuery, addressFor: AddressFor, period?: Period): Html {
  const days = query.days ?? (period && [period.first, period.last])
  const [from = '', to = ''] = days?.map(formatDate) ?? []
  const address = addressFor({ preset: DEFAULT_PRESET, days: undefined })
  return html`
    <details class="menu dates">
      <summary><span class="hidden">Dates: </span>${shown}</summary>
      <form method="get" action="${address.split('?')[0]}" class="sheet">
        ${hiddenFields(address)}
        <label><span>From</span> <input type="date" name="from" value="${from}"></label>
        <label><span>To</span> <input type="date" name="to" value="${to}"></label>
        <button class="small">Show</button>
      </form>
    </details>
  `
}
