import { html, type Html, nothing, type Part } from './html.ts'

/**
 * A chart is first of all a table. assets/charts.js draws the picture from what stands in it: each column says under
 * which `key` its cells are known, and a cell whose text is for people holds its `value` beside it. Instants are values
 * on the clock of the account (`wallClock` in figures/periods.ts), so that pictures need to know no zone.
 */
export interface Column<Row> {
  /** What the picture calls it; without one, it is for readers of the table only. */
  readonly key?: string
  readonly title: string
  readonly cell: (row: Row) => Part
  /** Where it is not the text of the cell; empty for none. */
  readonly value?: (row: Row) => string | number | null
  /** Whether what the cell holds was passed, where pictures tell. */
  readonly passed?: (row: Row) => boolean
  /** How the bars made of this column look; columns with a look are stacked. */
  readonly series?: 'solid' | 'open' | 'approximate'
  readonly numeric?: boolean
}

/** The pictures that assets/charts.js can draw, and the keys of the columns each one reads. */
type Picture =
  /** `at`, `grade`, `passed` (0 or 1), `average` */
  | 'grade'
  /** `at`, and `kind-…` with the grade of each kind */
  | 'grade-by-kind'
  /** `start`, `end`, `label`, `current` (0 or 1), and columns with `series` */
  | 'bars'
  /** `label`, `passed`, `total` */
  | 'rates'
  /** `label`, `seconds`, `seconds-target`, `reps`, `reps-target`, `passed` (0 or 1) */
  | 'targets'
  /** `label`, `seconds` or `reps`, `repeat`, `graded` (0 or 1) */
  | 'segments'
  /** `start`, `end`, `locked` (0 or 1), `label`; ticks from `at` of the table whose id `data.events` gives */
  | 'timeline'

export interface Chart<Row> {
  readonly picture: Picture
  readonly title: string
  /** One sentence that reads it. */
  readonly reading: Part
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** What the picture says when it has nothing to show. */
  readonly empty: string
  readonly key?: readonly Mark[]
  /** What else the picture wants to know: `unit`, `average`, `from`, `to`, `now`, `events`. */
  readonly data?: Readonly<Record<string, string | number | undefined>>
  /** Two charts may share one table: this one draws from the chart of that id. */
  readonly from?: string
  readonly id?: string
  readonly wide?: boolean
}

/** What a look in a picture means. */
type Mark = readonly [
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
    | 'target'
    | 'few'
    | 'tick'
    | 'now',
  text: string,
]

export function chart<Row>(chart: Chart<Row>): Html {
  const { picture, title, reading, columns, rows, empty, key = [], data = {}, from, id, wide = false } = chart
  return html`
    <section class="card chart${wide ? ' wide' : ''}" data-chart="${picture}" data-empty="${empty}"${
      id === undefined ? nothing : html` id="${id}"`
    }${from === undefined ? nothing : html` data-source="${from}"`}${Object.entries(data).map(([name, value]) =>
      value === undefined ? nothing : html` data-${name}="${value}"`,
    )}>
      <h2>${title}</h2>
      <p class="reading">${reading}</p>
      <div class="plot plot-${picture}"></div>
      ${
        key.length === 0
          ? nothing
          : html`<ul class="key">${key.map(([look, text]) => html`<li><i class="mark ${look}"></i>${text}</li>`)}</ul>`
      }
      ${from === undefined ? tableOf(title, columns, rows, empty) : nothing}
    </section>
  `
}

function tableOf<Row>(title: string, columns: readonly Column<Row>[], rows: readonly Row[], empty: string): Html {
  return html`
    <details class="behind">
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

function cellOf<Row>({ cell, value, passed, numeric = false }: Column<Row>, row: Row): Html {
  const held = value?.(row)
  return html`<td${numeric ? html` class="number"` : nothing}${
    held === undefined ? nothing : html` data-v="${held ?? ''}"`
  }${passed === undefined ? nothing : html` data-p="${passed(row) ? 1 : 0}"`}>${cell(row)}</td>`
}
