import { html, type Html, nothing, type Part } from '../html.ts'
import { table, type TableColumn } from '../layout/components.ts'
import { numberText } from '../text/text.ts'
import { boxes, dots, levels, type Range, round, tickAt } from './plane.ts'

/**
 * A card with a picture that the server draws. The drawing is hidden from screen readers: the texts and links of its marks are the rows
 * of a table. assets/pictures.js shows the row of the mark that somebody points at, and opens its link.
 */
export interface Picture {
  /** Its name on the page and in addresses. */
  readonly id: string
  readonly title: string
  /** What it shows, in a sentence. */
  readonly summary?: Part
  readonly actions?: Html | undefined
  readonly drawing: Html | undefined
  readonly empty: string
  /** How many lines it has, if time goes on from the end of one to the start of the next. */
  readonly lines?: number | undefined
  readonly legend?: readonly (LegendItem | false)[]
  /** Its table, a row of which is shown where somebody points at its mark. */
  readonly figures?: Html
}

/** A style of marks in a picture, and what it means; an empty one for signs in the text itself. */
export type LegendItem = readonly [look: string, text: string]

export function picture(shown: Picture): Html {
  const { id, title, summary, actions, legend = [], figures } = shown
  return html`
    <section class="card chart" id="${id}">
      <div class="card-head"><h2>${title}</h2>${actions}</div>
      ${summary === undefined ? nothing : html`<p class="summary">${summary}</p>`}
      ${plotOf(shown)}
      ${legendOf(legend)}
      ${figures}
    </section>
  `
}

export function legendOf(items: readonly (LegendItem | false)[]): Html {
  const shown = items.filter(item => item !== false)
  if (shown.length === 0) return nothing
  return html`<ul class="legend">${shown.map(([look, text]) => html`<li>${look !== '' && legendMark(look)}${text}</li>`)}</ul>`
}

/** Of dots, of which those that were not passed are hollow. */
export function resultLegend(
  passed: readonly boolean[],
  [yes, no]: readonly [yes: string, no: string] = ['Passed', 'Not passed'],
): (LegendItem | false)[] {
  return passed.length === 0 ? [] : [['filled', yes], !passed.every(Boolean) && ['hollow', no]]
}

/** A mark as pictures draw it, beside the text that says what it means. */
export function legendMark(look: string): Html {
  return html`<svg class="plane mark ${look}" height="12" aria-hidden="true">${markOf(look)}</svg>`
}

function markOf(look: string): Html {
  const dot = ({ filled: 'filled', hollow: 'hollow', running: 'so-far' } as const)[look]
  if (dot !== undefined) return dots(dot, { x: at => at, y: value => value }, [{ at: 50, value: 50 }])
  if (['line', 'goal', 'grid'].includes(look)) return levels(look, [{ x: [0, 100], y: 50 }])
  return look === 'tick' || look === 'spread' ? tickAt(50, look) : boxes(look, [{ x: [0, 100], y: [0, 100] }])
}

interface Figures<Row> {
  readonly title: string
  readonly note?: Html
  /** The first one has the link of a row. */
  readonly columns: readonly TableColumn<Row>[]
  readonly rows: readonly Row[]
  readonly placeOf: (row: Row) => Range
  /** The day of a row as `YYYY-MM-DD`, if its link does not say its days. */
  readonly dayOf?: (row: Row) => string
  /** The address of some days, with `{from}` and `{to}`: those that somebody selects are shown there. */
  readonly daysAddress?: string
  readonly isOpen?: boolean
}

export function figuresTable<Row>(shown: Figures<Row>): Html {
  const { title, note, columns, rows, placeOf, dayOf, daysAddress, isOpen = false } = shown
  if (rows.length === 0) return nothing
  const attributes = (row: Row) =>
    html` data-x="${placeOf(row).map(round).join(' ')}"${dayOf === undefined ? nothing : html` data-day="${dayOf(row)}"`}`
  // By the style of these tables, all but the first column are aligned as numbers.
  const shownColumns = isOpen ? columns : columns.map(({ title, cell }) => ({ title, cell }))
  const look = isOpen ? undefined : 'compact'
  return html`<details class="figures"${daysAddress === undefined ? nothing : html` data-select="${daysAddress}"`}${isOpen && html` open`}><summary>${title}</summary>${note}${rows.length > MAX_ROWS ? html`<p>The first ${numberText(MAX_ROWS)} of ${numberText(rows.length)} are drawn.</p>` : nothing}${table(title, shownColumns, rows.slice(0, MAX_ROWS), { look, attributes })}</details>`
}

/** More rows would be too many for a page. */
export const MAX_ROWS = 200

function plotOf({ title, drawing, empty, lines }: Picture): Html {
  if (drawing === undefined) return html`<p class="plot nothing">${empty}</p>`
  const [look, data, height] =
    lines === undefined
      ? ['', nothing, nothing]
      : [' lines', html` data-lines="${lines}"`, html` height="${lines * lineHeight(lines)}em"`]
  return html`<div class="plot${look}" data-name="${title}"${data}><svg class="plane" aria-hidden="true"${height}>${drawing}</svg></div>`
}

/** Of a line of a drawing that has several, in the size of its letters: of many, a few screens hold all. */
export function lineHeight(lines: number): number {
  return lines > 20 ? 2 : 2.5
}
