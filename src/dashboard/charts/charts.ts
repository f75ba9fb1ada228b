import { html, type Html, jsonData, nothing, type Part } from '../html.ts'
import { type Chart, type PageAddress, type View, view, type Visit } from '../page.ts'
import { table } from '../layout/components.ts'
import { paginate, pageNumber, RECORD_ROWS, recordTableFoot } from '../paging.ts'
import { NONE, numberText } from '../text/text.ts'

/**
 * A chart is drawn by assets/charts.js from data in its card. Its table is a page of its own, whose rows are loaded into
 * the card when somebody opens it. Instants are values on the clock of the account (`wallClock` in stats/periods.ts), so
 * the browser needs no time zone. All averages and limits are computed here, none in the browser.
 */
export interface ChartColumn<Row> {
  /** The name of the column for the drawing; a column without one is shown in the table only. */
  readonly key?: string
  readonly title: string
  /** By default the number that is drawn, or a dash. */
  readonly cell?: (row: Row) => Part
  /** What is drawn: a number, null for none, or an instant; the text of the cell if not given. */
  readonly value?: (row: Row) => string | number | null
  /** For a column with values: whether it was passed. */
  readonly passed?: (row: Row) => boolean
  /** For a column with values: the moving average. */
  readonly average?: (row: Row) => number | null
  /** The style of the bars made of this column; columns with a style are stacked. */
  readonly series?: 'solid' | 'open' | 'approximate'
  /** By default, columns without a `cell` of their own are. */
  readonly numeric?: boolean
  /** Drawn, but not in the table. */
  readonly isDrawnOnly?: boolean
}

/** The charts that assets/charts.js draws, and the keys of the columns that each one reads. */
type ChartType =
  /** `at`, `grade`, `passed` (0 or 1), `average` */
  | 'grade'
  /** `at`, and `kind-…` with the grade of each kind, whether it was passed, and its average */
  | 'grade-by-kind'
  /** `at`, `median`, `low`, `high` */
  | 'spread'
  /** `at`, and `kind-…`, `low-…` and `high-…` for each kind */
  | 'spread-by-kind'
  /** `start`, `end`, `current` (0 or 1), and columns with `series` */
  | 'bars'
  /** `label`, `text`, `width`, `repeat`, `graded` (0 or 1) */
  | 'segments'
  /** `start`, `end`, `locked` (0 or 1), `label`; `ticks` are events */
  | 'timeline'

export interface ChartOptions<Row> {
  /** Its name on the page and in addresses. */
  readonly id: string
  readonly chartType: ChartType
  readonly title: string
  /** One sentence that sums it up. */
  readonly summary: Part
  readonly columns: readonly ChartColumn<Row>[]
  readonly rows: readonly Row[]
  /** How many rows are drawn at most; the first ones are. */
  readonly maxDrawn?: number
  /** The text where there is nothing to draw. */
  readonly empty: string
  readonly legend?: readonly LegendItem[]
  /** More for the drawing: `unit`, `period` (`month` or `quarter`, if not weeks), `average`, `average-from`, `from`, `to`, `now`, `low` and
   * `high` (the ends of the axis of grades), `goal`, `href` (where bars lead, with `{from}` and `{to}` for their days). */
  readonly data?: Readonly<Record<string, string | number | undefined>>
  /** Links or buttons next to the title. */
  readonly actions?: Html | undefined
  /** A dashed line with times of its own. */
  readonly overlay?: Overlay | undefined
  /** Instants that are marked. */
  readonly ticks?: readonly string[]
  /** Where the mark of a row leads: a path that ends with its identifier. */
  readonly link?: { readonly path: string; readonly id: (row: Row) => number }
  /** The id of another chart, whose data and table this one uses. */
  readonly source?: string
  /** A link to its figures, where the page has them beside the chart: it then has no table of its own. */
  readonly figures?: Html
  readonly wide?: boolean
}

interface Overlay {
  readonly title: string
  readonly times: readonly string[]
  readonly values: readonly number[]
}

/** A style of marks in a chart, and what it means. */
export type LegendItem = readonly [
  look:
    | 'filled'
    | 'hollow'
    | 'line'
    | 'band'
    | 'before'
    | 'break'
    | 'goal'
    | 'solid'
    | 'open'
    | 'so-far'
    | 'approximate'
    | 'tick'
    | 'now',
  text: string,
]

export function chart<Row>(options: ChartOptions<Row>): Chart {
  const { id, title } = options
  const table = options.figures === undefined ? (address: PageAddress) => tableOf(options, address) : undefined
  return { id, title, card: address => cardOf(options, address), table }
}

export function chartCards(address: PageAddress, charts: readonly Chart[]): Html[] {
  return charts.map(({ card }) => card(address))
}

function cardOf<Row>(options: ChartOptions<Row>, address: PageAddress): Html {
  const { id, chartType, title, summary, empty, legend = [], data = {}, source, wide = false, actions } = options
  return html`
    <section class="card chart${wide ? ' wide' : ''}" id="${id}" data-chart="${chartType}" data-empty="${empty}"${
      source === undefined ? nothing : html` data-source="${source}"`
    }${Object.entries(data).map(([name, value]) => (value === undefined ? nothing : html` data-${name}="${value}"`))}>
      ${actions === undefined ? html`<h2>${title}</h2>` : html`<div class="card-head"><h2>${title}</h2>${actions}</div>`}
      <p class="summary">${summary}</p>
      <div class="plot plot-${chartType}"></div>
      ${
        legend.length === 0
          ? nothing
          : html`<ul class="legend">${legend.map(([look, text]) => html`<li><i class="mark ${look}"></i>${text}</li>`)}</ul>`
      }
      ${source === undefined ? html`${dataOf(options)}${figuresOf(options, address)}` : nothing}
    </section>
  `
}

function figuresOf<Row>(options: ChartOptions<Row>, address: PageAddress): Html {
  const { figures } = options
  return figures === undefined ? tableLink(options, address) : html`<div class="chart-table">${figures}</div>`
}

function tableLink({ id, title }: { readonly id: string; readonly title: string }, address: PageAddress): Html {
  return html`<div class="chart-table"><a href="${addressWithTable(address, id)}" data-table>Show the figures<span class="hidden"> of ${title}</span></a></div>`
}

/** The address of a page with the table of a chart, or of the page itself without one. */
function addressWithTable({ path, query }: PageAddress, table?: string): string {
  const changed = new URLSearchParams(query)
  changed.delete('page')
  if (table === undefined) changed.delete('table')
  else changed.set('table', table)
  return changed.size === 0 ? path : `${path}?${changed}`
}

function tableOf<Row>({ title, columns, rows, empty }: ChartOptions<Row>, { path, query }: PageAddress) {
  if (rows.length === 0) return html`<p class="muted">${empty}.</p>`
  const paged = paginate(rows, pageNumber(query), RECORD_ROWS)
  const shown = columns
    .filter(({ isDrawnOnly = false }) => !isDrawnOnly)
    .map(column => ({
      title: column.title,
      numeric: column.numeric ?? column.cell === undefined,
      cell: (row: Row) => cellOf(column, row),
    }))
  return html`
    ${table(`${title}, as a table`, shown, paged.rows, { look: 'compact' })}
    ${recordTableFoot(path, query, paged)}
  `
}

function cellOf<Row>({ cell, value }: ChartColumn<Row>, row: Row): Part {
  if (cell !== undefined) return cell(row)
  const drawn = value?.(row) ?? NONE
  return typeof drawn === 'number' ? numberText(drawn) : drawn
}

/** The data of the drawing, by column: times, numbers or texts. */
function dataOf<Row>({ columns, rows: all, maxDrawn, ticks, link, overlay }: ChartOptions<Row>): Html {
  const rows = all.slice(0, maxDrawn)
  const data = {
    length: rows.length,
    columns: columns.flatMap(column => columnData(column, rows)),
    ...(overlay === undefined ? {} : { overlay: { ...overlay, times: times(overlay.times) } }),
    ...(ticks === undefined ? {} : { ticks: times(ticks) }),
    ...(link === undefined ? {} : { path: link.path, ids: steps(rows.map(link.id)) }),
  }
  return html`<script type="application/json">${jsonData(data)}</script>`
}

function columnData<Row>(column: ChartColumn<Row>, rows: readonly Row[]) {
  const { key, title, value, passed, average, series } = column
  if (key === undefined) return []
  const drawn = value === undefined ? undefined : rows.map(value)
  const isTime = typeof drawn?.[0] === 'string'
  return [
    {
      key,
      title,
      ...(series === undefined ? {} : { series }),
      ...(drawn === undefined
        ? { texts: rows.map(row => String(cellOf(column, row))) }
        : isTime
          ? timesOf(drawn.map(String))
          : { values: drawn }),
      ...(passed === undefined ? {} : { passed: rows.map(row => (passed(row) ? '1' : '0')).join('') }),
      ...(average === undefined
        ? {}
        : { averages: rows.map((row, index) => (drawn?.[index] == null ? null : average(row))) }),
    },
  ]
}

/** Times as days where they all are midnight, as those of weeks and months are, which takes fewer digits. */
function timesOf(clocks: readonly string[]) {
  const seconds = times(clocks)
  return seconds.every(step => step % DAY_S === 0) ? { days: seconds.map(step => step / DAY_S) } : { times: seconds }
}

const DAY_S = 86_400

/** Seconds of local times, taken as if they were UTC, as the differences of their differences: for days and weeks these are zeroes. */
function times(clocks: readonly string[]): number[] {
  return steps(steps(clocks.map(clock => Date.parse(`${clock}Z`) / 1000)))
}

/** The first number, then the difference of each number from the one before it, which takes fewer digits. */
function steps(numbers: readonly number[]): number[] {
  return numbers.map((number, index) => number - (index === 0 ? 0 : (numbers[index - 1] ?? 0)))
}

/** The page with the table of a chart, if the address asks for one that the view has. */
export function chartTableView(visit: Visit, shown: View): View | undefined {
  const id = visit.query.get('table')
  const chart = id === null ? undefined : shown.charts?.find(one => one.id === id)
  if (chart?.table === undefined) return undefined
  const { owner, title } = shown
  return view({
    owner,
    title: `${title}: ${chart.title}`,
    back: { path: addressWithTable(visit), title },
    body: html`<section class="card" data-chart-table>${chart.table(visit)}</section>`,
  })
}
