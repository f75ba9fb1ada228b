import { numberCell, timestampCell, wholeCell } from '../../archive/formats/cells.ts'
import { type FieldColumn, fieldValues } from '../../archive/formats/tables.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import type { Viewer, Visit } from '../page.ts'
import { dateText, dateTimeText, lastUsed, NONE, numberText } from '../text/text.ts'

export function card(title: string, body: Part, more: { readonly actions?: Html; readonly id?: string } = {}): Html {
  return html`
    <section class="card"${more.id === undefined ? nothing : html` id="${more.id}"`}>
      <div class="card-head"><h2>${title}</h2>${more.actions}</div>
      ${body}
    </section>
  `
}

/** Beside a form: what its button leads to, in sentences. */
export function stepsCard(steps: readonly string[]): Html {
  return card('What happens', html`<ol class="stack">${steps.map(step => html`<li>${step}</li>`)}</ol>`)
}

/** A part of a page that is a list of settings or forms: its heading, and beside it its card. */
export function section(title: string, body: Part, { look = '' } = {}): Html {
  return html`
    <section class="section">
      <h2>${title}</h2>
      <div class="card${look}">${body}</div>
    </section>
  `
}

/** In such a card: what it is, what it is set to or does, what can be done, and below that what takes more room. */
export function setting(title: Part, text: Part, actions: Part = nothing, more: Part = nothing): Html {
  return html`
    <div class="setting">
      <div><h3>${title}</h3>${text === nothing ? nothing : html`<p class="muted">${text}</p>`}</div>
      ${actions === nothing ? nothing : html`<div class="buttons">${actions}</div>`}
      ${more}
    </div>
  `
}

export function emptyState(title: string, text: Part, action: Part = nothing): Html {
  return html`<div class="card empty"><h2>${title}</h2><p>${text}</p>${action}</div>`
}

/** Shown where there are no records yet: how the owner of the account brings them in. */
export function noRecords(viewer: Viewer, title: string, text: Part, example: Part = nothing): Html {
  const isOwn = viewer.subject.id === viewer.session.accountId
  const ways = html`<p class="buttons">${CONNECT}${UPLOAD}</p>`
  return html`${emptyState(title, text, isOwn && ways)}${isOwn && !viewer.discreet && example}`
}

/** A way to bring records in: what it needs, how long it takes, and its button. */
export function way([icon, title, needs, time]: Way, action: Html, more: Part = nothing): Html {
  return html`<section class="card way"><svg class="ring" viewBox="0 0 24 24" width="32" height="32" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true"><path d="${icon}"/></svg><h2>${title}</h2><p>${needs}</p><p class="small muted">${time}</p><div class="buttons">${action}</div>${more}</section>`
}

type Way = readonly [icon: string, title: string, needs: string, time: Part]

export const SERVER_WAY: Way = [
  'M4 4h16v6H4zM4 14h16v6H4zM7 7h1M7 17h1M12 7h5M12 17h5',
  'From a server',
  'Your history is copied from another Lockstep, or a service with the same API, and stays current. You need its address and an API key made there. Nothing is changed there.',
  'About a minute for each year of history; after that, only new records.',
]

export const FILE_WAY: Way = [
  'M4 3h8l5 5v13H4zM12 3v5h5M7 13h7M7 17h7',
  'From a file',
  'An export of Lockstep, a table saved as CSV, or a saved response of the API. You see what is in it before it is stored.',
  html`A few seconds. Or download an empty table: <a href="/source/upload/training.csv" download>training</a>, <a href="/source/upload/locks.csv" download>locks</a>`,
]

export const CONNECT = html`<a class="button primary" href="/source/connect">Connect a server</a>`

const UPLOAD = html`<a class="button" href="/source/upload">Upload a file</a>`

export const bothWays = html`<div class="tiles">${way(SERVER_WAY, CONNECT)}${way(FILE_WAY, UPLOAD)}</div>`

export function stat(name: string, value: Part, note?: Part, look = 'stat'): Html {
  return html`<div class="${look}"><dt>${name}</dt><dd>${value}${note === undefined ? nothing : html`<small>${note}</small>`}</dd></div>`
}

/** The one that answers what somebody opens the page for. */
export function mainStat(name: string, value: Part, note?: Part): Html {
  return stat(name, value, note, 'stat main')
}

export function stats(...items: readonly Part[]): Html {
  return html`<dl class="stats card">${items}</dl>`
}

export function facts(rows: readonly (readonly [name: string, value: Part])[]): Html {
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export interface TableColumn<Row> {
  readonly title: Part
  readonly cell: (row: Row) => Part
  /** Numbers are aligned at the right. */
  readonly numeric?: boolean
  readonly sorted?: 'ascending' | 'descending' | undefined
  /** In a table of records: the line of its row on narrow screens; a column without one is not shown there. */
  readonly line?: 'first' | 'second'
  /** What stands before the text on narrow screens, where the heading is not shown. */
  readonly before?: string
  /** The unit after it; by the row where it has a plural. */
  readonly unit?: string | ((row: Row) => string)
  /** Not shown on tablets and paper. */
  readonly isWide?: boolean
}

/** Numbers on the first and on the second line of narrow screens. */
export const FIRST = { numeric: true, line: 'first' } as const
export const SECOND = { numeric: true, line: 'second' } as const

interface TableOptions<Row> {
  readonly id?: string
  readonly look?: 'runs' | 'records' | 'compact' | undefined
  /** What the element of a row has for scripts. */
  readonly attributes?: (row: Row) => Html
}

/**
 * A table that scrolls sideways on narrow screens. `name` is its accessible name. Of a table of records, each row becomes two lines there
 * instead, so that a button at its end stays visible.
 */
export function table<Row>(
  name: string,
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  {
    id,
    look = columns.some(({ line }) => line !== undefined) ? 'records' : undefined,
    attributes,
  }: TableOptions<Row> = {},
): Html {
  const classOf = ({ numeric = false, isWide = false }: TableColumn<Row>, line?: string) => {
    const names = [numeric && 'number', isWide && 'wide', line !== undefined && `${line}-line`].filter(Boolean)
    return names.length > 0 && html` class="${names.join(' ')}"`
  }
  const cellAttributes = (column: TableColumn<Row>, row: Row) => {
    const { line, before, unit: given } = column
    const unit = typeof given === 'function' ? given(row) : given
    return html`${classOf(column, line)}${unit === undefined ? nothing : html` data-unit="${unit}"`}${before === undefined ? nothing : html` data-before="${before}"`}`
  }
  return html`
    <div class="scroll" role="region" aria-label="${name}" tabindex="0">
      <table${id === undefined ? nothing : html` id="${id}"`}${look === undefined ? nothing : html` class="${look}"`}>
        <thead><tr>${columns.map(column => html`<th scope="col"${classOf(column)}${column.sorted === undefined ? nothing : html` aria-sort="${column.sorted}"`}>${column.title}</th>`)}</tr></thead>
        <tbody>${rows.map(row => html`<tr${attributes?.(row)}>${columns.map(column => html`<td${cellAttributes(column, row)}>${column.cell(row)}${attributes === undefined ? CELL_END : nothing}`)}</tr>`)}</tbody>
      </table>
    </div>
  `
}

/** Of keys and passkeys. */
export function usageColumns<Row extends { readonly created_at: number; readonly last_used_at: number | null }>(
  viewer: Viewer,
  now: number,
): TableColumn<Row>[] {
  return [
    { title: 'Created', line: 'second', before: 'created ', cell: one => dateText(viewer, one.created_at) },
    { title: 'Last used', line: 'second', before: 'last used: ', cell: one => lastUsed(viewer, one.last_used_at, now) },
  ]
}

/** What can be done with a row. */
export function actionColumn<Row>(cell: (row: Row) => Part): TableColumn<Row> {
  return { title: html`<span class="hidden">Actions</span>`, numeric: true, cell }
}

/** In it, a link to the page that asks for it; `of` names the row for screen readers. */
export function action(address: string, text: string, of: string, look = ''): Html {
  return html`<a class="button small${look}" href="${address}" aria-label="${text} ${of}">${text}</a>`
}

/** Columns of the fields of records that are shown as they are. */
export function fieldColumns<Row extends { readonly record?: object | undefined }>(
  viewer: Viewer,
  columns: readonly FieldColumn[],
): TableColumn<Row>[] {
  return columns.map(column => ({
    title: column.title,
    numeric: column.type === numberCell || column.type === wholeCell,
    cell({ record }) {
      const [value = null] = fieldValues([column], record, viewer.discreet)
      if (typeof value === 'boolean') return value ? 'Yes' : 'No'
      if (typeof value === 'number') return numberText(value)
      return value === null ? NONE : column.type === timestampCell ? dateTimeText(viewer, Date.parse(value)) : value
    },
  }))
}

/** Figures of pictures have thousands of cells, which do without. */
const CELL_END = html`</td>`

/** Facts in a row, with a dot between two of a line: none begins or ends one. */
export function dotted(...facts: readonly Part[]): Html {
  return html`<span class="dotted">${facts.map(fact => (fact === nothing || fact === undefined || fact === false ? nothing : html`<span>${fact}</span> `))}</span>`
}

/** A filled mark for passed, a hollow one for not passed, with the word. */
export function resultMark(passed: boolean): Html {
  return html`<span class="result ${passed ? 'passed' : 'not-passed'}">${passed ? 'Passed' : 'Not passed'}</span>`
}

/** Marks a record that somebody typed into a table: no device measured it. */
export const TYPED = html` <span class="state">Entered by hand</span>`

export type Choices = readonly (readonly [value: string | number, title: string])[]

/** The options of a `<select>`. */
export function options(choices: Choices, chosen?: string | number): Html[] {
  return choices.map(
    ([value, title]) => html`<option value="${value}"${value === chosen ? html` selected` : nothing}>${title}</option>`,
  )
}

/** Text with a button to copy it. A secret is highlighted, and its button has the focus when the page opens. */
export function code(text: string, name: string, isSecret = false): Html {
  return html`
    <div class="code${isSecret ? ' secret' : ''}">
      <pre tabindex="0" role="region" aria-label="${name}"><code>${text}</code></pre>
      <button type="button" class="copy" data-copy aria-label="Copy: ${name}"${isSecret ? html` autofocus` : nothing}>Copy</button>
    </div>
  `
}

interface RecordTabs {
  /** Only they see how to delete it. */
  readonly owner: number
  /** The path of the API that returns the record, and its JSON. */
  readonly apiPath: string
  readonly json: string
  readonly summary: () => Part
}

/** The two views of a record: what it says, and how it is stored. Only the open one is rendered. */
export function recordTabs({ path, query, site, viewer }: Visit, { owner, apiPath, json, summary }: RecordTabs): Html {
  const isData = query.get('view') === 'data'
  const tab = (title: string, address: string, isOpen: boolean) =>
    html`<li><a href="${address}"${isOpen ? html` aria-current="true"` : nothing}>${title}</a></li>`
  const data = () => html`
    ${card(
      'JSON',
      viewer.discreet
        ? html`<p class="muted">The JSON has names, so it is not shown while names are hidden.</p>`
        : jsonExcerpt(JSON.stringify(JSON.parse(`{"ok":true,"data":${json}}`), null, 2)),
    )}
    ${card('Request', code(curlLine(site.baseUrl, apiPath), 'curl command'))}
    ${owner === viewer.session.accountId ? html`<p class="buttons"><a class="button danger small" href="${path}/delete">Delete</a></p>` : nothing}
  `
  return html`
    <nav class="tabs" aria-label="Views"><ul>${tab('Summary', path, !isData)}${tab('Data', `${path}?view=data`, isData)}</ul></nav>
    ${isData ? data() : summary()}
  `
}

/** What discreet mode does not change, to say before it is downloaded. */
export const AS_STORED = html`<small class="muted">NDJSON has names and texts as they are stored.</small>`

const MAX_SHOWN_JSON = 16 * 1024

function jsonExcerpt(text: string): Html {
  if (text.length <= MAX_SHOWN_JSON) return code(text, 'JSON of the record')
  const shown = text.slice(0, text.lastIndexOf('\n', MAX_SHOWN_JSON))
  return html`
    ${code(`${shown}\n…`, 'JSON of the record, its beginning')}
    <p class="muted">The first ${numberText(Math.round(shown.length / 1024))} of ${numberText(Math.round(text.length / 1024))} KB. The request below returns the whole record.</p>
  `
}

export function curlLine(baseUrl: string, path: string, token = '$LOCKSTEP_TOKEN'): string {
  return `curl -H "Authorization: Bearer ${token}" "${baseUrl}${path}"`
}

const PAGE_SIZE = 15

export interface Paged<Item> {
  readonly rows: readonly Item[]
  readonly page: number
  readonly pages: number
  /** The number of the first row among all, from 1. */
  readonly first: number
  readonly total: number
}

/** The page that a query names; the first if it names none. */
function pageNumber(query: URLSearchParams): number {
  const page = query.get('page') ?? ''
  return /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1
}

/** The page of the items that a query names; the last one if there are fewer pages. */
export function paginate<Item>(items: readonly Item[], query: URLSearchParams, size = PAGE_SIZE): Paged<Item> {
  const total = items.length
  const limit = query.get('rows') === 'all' ? MAX_PRINTED_ROWS : size
  const pages = Math.max(1, Math.ceil(total / limit))
  const page = Math.min(pageNumber(query), pages)
  const start = (page - 1) * limit
  return { rows: items.slice(start, start + limit), page, pages, first: start + 1, total }
}

/** How many rows a page to print has. More would take long. */
const MAX_PRINTED_ROWS = 1000

/**
 * Which rows are shown, and links to the previous and the next page that keep the rest of the query; nothing if all are. `anchor` is the
 * id of the card with the table.
 */
export function tableFoot(path: string, query: URLSearchParams, paged: Paged<unknown>, anchor = 'sessions'): Html {
  const { rows, page, pages, first, total } = paged
  if (pages === 1) return nothing
  const rest = new URLSearchParams(query)
  rest.delete('page')
  const fields = hiddenFields(`?${rest.toString()}`)
  rest.set('rows', 'all')
  const print = html`<a class="off-paper wide" href="${path}?${rest.toString()}#${anchor}">Print all rows</a>`
  return html`
    <div class="table-foot">
      <p class="muted">${dotted(html`${numberText(first)}–${numberText(first + rows.length - 1)} of ${numberText(total)}<span class="on-paper">, page ${numberText(page)} of ${numberText(pages)}: an extract</span>`, query.get('rows') !== 'all' && print)}</p>
      ${pages > 2 && html`<div class="filters off-paper"><form method="get" action="${path}#${anchor}">${fields}Page <input name="page" aria-label="Page" value="${page}" size="3" maxlength="6" inputmode="numeric" pattern="[0-9]+" required> of ${numberText(pages)} <button class="small">Go</button></form></div>`}
      ${pager({ path, query, anchor }, page, pages)}
    </div>
  `
}

/** The query of an address, for a form that keeps it. */
export function hiddenFields(address: string): Html[] {
  const query = new URLSearchParams(address.split('?')[1] ?? '')
  return [...query].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}

/** The rows of a page of a log, of which nobody counts how many there are, and links to newer and older ones. */
export async function logPage<Row>(
  list: PagedList,
  size: number,
  read: (range: { readonly limit: number; readonly offset: number }) => Promise<readonly Row[]>,
) {
  const page = pageNumber(list.query)
  const rows = await read({ limit: size + 1, offset: (page - 1) * size })
  const hasOlder = rows.length > size
  const links = page === 1 && !hasOlder ? nothing : pager(list, page, hasOlder ? page + 1 : page)
  return { rows: rows.slice(0, size), links }
}

interface PagedList {
  readonly path: string
  readonly query: URLSearchParams
  /** The id of its card; none if the page is the table alone. */
  readonly anchor: string | undefined
}

/** How many rows a table on the page of a record shows. */
export const RECORD_ROWS = 100

function pager({ path, query, anchor }: PagedList, page: number, pages: number): Html {
  const link = (to: number, text: string, rel: string) => {
    const next = new URLSearchParams(query)
    if (to === 1) next.delete('page')
    else next.set('page', String(to))
    return html`<a class="button small" rel="${rel}" href="${next.size === 0 ? path : `${path}?${next}`}${anchor === undefined ? '' : `#${anchor}`}">${text}</a>`
  }
  return html`
    <nav class="pager" aria-label="Pages">
      ${page > 1 && link(page - 1, 'Previous', 'prev')}
      ${page < pages && link(page + 1, 'Next', 'next')}
    </nav>
  `
}
