import { html, type Html, nothing, type Part } from './html.ts'

/**
 * A chart is a table that assets/charts.js draws. The heading of a column has its `key`; a cell whose text is formatted also
 * has its `value`. Instants are values on the clock of the account (`wallClock` in stats/periods.ts), so
 * the browser needs no time zone. All averages and limits are computed here, none in the browser.
 */
export interface Column<Row> {
  /** The name of the column for the drawing; a column without one is shown in the table only. */
  readonly key?: string
  readonly title: string
  readonly cell: (row: Row) => Part
  /** The value that is drawn, null for none; the text of the cell if not given. */
  readonly value?: (row: Row) => string | number | null
  /** For a cell with a value: whether it was passed. */
  readonly passed?: (row: Row) => boolean
  /** For a cell with a value: the moving average. */
  readonly average?: (row: Row) => number | null
  /** The look of the bars made of this column; columns with a look are stacked. */
  readonly series?: 'solid' | 'open' | 'approximate'
  readonly numeric?: boolean
}

/** The charts that assets/charts.js draws, and the keys of the columns that each one reads. */
type ChartType =
  /** `at`, `grade`, `passed` (0 or 1), `average` */
  | 'grade'
  /** `at`, and `kind-…` with the grade of each kind, whether it was passed, and its average */
  | 'grade-by-kind'
  /** `start`, `end`, `current` (0 or 1), and columns with `series` */
  | 'bars'
  /** `label`, `passed`, `total`, `rate` */
  | 'rates'
  /** `label`, `seconds`, `seconds-target`, `reps`, `reps-target`, `passed` (0 or 1) */
  | 'targets'
  /** `label`, `seconds` or `reps`, `repeat`, `graded` (0 or 1) */
  | 'segments'
  /** `start`, `end`, `locked` (0 or 1), `label`; ticks from `at` of the table whose id is `data.events` */
  | 'timeline'

export interface Chart<Row> {
  readonly chartType: ChartType
  readonly title: string
  /** One sentence that sums it up. */
  readonly summary: Part
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** The text where there is nothing to draw. */
  readonly empty: string
  readonly legend?: readonly LegendItem[]
  /** What else is drawn: `unit`, `average`, `few` (rates of fewer are greyed), `from`, `to`, `now`, `events`. */
  readonly data?: Readonly<Record<string, string | number | undefined>>
  /** The id of another chart, whose table this one is drawn from. */
  readonly source?: string
  readonly id?: string
  readonly wide?: boolean
}

/** What a look in a chart means. */
type LegendItem = readonly [
  look:
    | 'filled'
    | 'hollow'
    | 'outline'
    | 'line'
    | 'average'
    | 'solid'
    | 'open'
    | 'so-far'
    | 'approximate'
    | 'few'
    | 'tick'
    | 'now',
  text: string,
]

export function chart<Row>(chart: Chart<Row>): Html {
  const { chartType, title, summary, columns, rows, empty, legend = [], data = {}, source, id, wide = false } = chart
  return html`
    <section class="card chart${wide ? ' wide' : ''}" data-chart="${chartType}" data-empty="${empty}"${
      id === undefined ? nothing : html` id="${id}"`
    }${source === undefined ? nothing : html` data-source="${source}"`}${Object.entries(data).map(([name, value]) =>
      value === undefined ? nothing : html` data-${name}="${value}"`,
    )}>
      <h2>${title}</h2>
      <p class="summary">${summary}</p>
      <div class="plot plot-${chartType}"></div>
      ${
        legend.length === 0
          ? nothing
          : html`<ul class="legend">${legend.map(([look, text]) => html`<li><i class="mark ${look}"></i>${text}</li>`)}</ul>`
      }
      ${source === undefined ? tableOf(title, columns, rows, empty) : nothing}
    </section>
  `
}

function tableOf<Row>(title: string, columns: readonly Column<Row>[], rows: readonly Row[], empty: string): Html {
  return html`
    <details class="chart-table">
      <summary>Table<span class="hidden"> of ${title}</span></summary>
      <div class="scroll" tabindex="0" role="region" aria-label="${title}, as a table">
        <table class="compact">
          <thead><tr>${columns.map(heading)}</tr></thead>
          <tbody>${rows.map(row => html`<tr>${columns.map(column => cellOf(column, row))}</tr>`)}</tbody>
        </table>
        ${rows.length === 0 ? html`<p class="muted">${empty}.</p>` : nothing}
      </div>
    </details>
  `
}

function heading<Row>({ key, title, series, numeric = false }: Column<Row>): Html {
  return html`<th scope="col"${numeric ? html` class="number"` : nothing}${
    key === undefined ? nothing : html` data-key="${key}"`
  }${series === undefined ? nothing : html` data-series="${series}"`}>${title}</th>`
}

/** The attributes have short names, because a table may have thousands of cells. */
function cellOf<Row>({ cell, value, passed, average, numeric = false }: Column<Row>, row: Row): Html {
  const drawn = value?.(row)
  return html`<td${numeric ? html` class="number"` : nothing}${
    drawn === undefined ? nothing : html` data-v="${drawn ?? ''}"`
  }${passed === undefined || drawn === null ? nothing : html` data-p="${passed(row) ? 1 : 0}"`}${
    average === undefined || drawn === null ? nothing : html` data-a="${average(row) ?? ''}"`
  }>${cell(row)}</td>`
}
