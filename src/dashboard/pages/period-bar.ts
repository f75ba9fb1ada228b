import { formatDate } from '../../contract/calendar.ts'
import { DAY_MS } from '../../contract/time.ts'
import { html, type Html, nothing } from '../html.ts'
import {
  comparisons,
  daysText,
  DEFAULT_PRESET,
  type Period,
  type PeriodQuery,
  presetNames,
  presetTitle,
  stepFrom,
} from '../text/period.ts'

/** The control of the period that a page shows: an arrow at each side of its days, fields for the first and the last one, and presets. */

interface PeriodControl {
  readonly query: PeriodQuery
  /** Undefined if all days are shown. */
  readonly period: Period | undefined
  /** The address of the page with these changes. */
  readonly addressOf: (changes: Partial<PeriodQuery>) => string
}

export function periodBar(control: PeriodControl): Html {
  const { query, period, addressOf } = control
  return html`
    ${period === undefined || period.length === 0 ? nothing : stepper(period, addressOf)}
    ${dateFields(control)}
    <nav class="choice" aria-label="Period">${presetNames.map(preset => {
      const isShown = query.days === undefined && query.preset === preset
      return html`<a href="${addressOf({ preset, days: undefined })}"${isShown ? html` aria-current="true"` : nothing}>${presetTitle(preset)}</a>`
    })}</nav>
  `
}

function stepper(period: Period, addressOf: PeriodControl['addressOf']): Html {
  const address = (steps: -1 | 1) => {
    const step = stepFrom(period, steps)
    return step && addressOf(step)
  }
  const text = daysText(period)
  // Paper is also read in other years.
  const hasYear = / \d{4}$/.test(text)
  return html`
    <nav class="stepper" aria-label="Steps">
      ${stepTo('prev', address(-1), 'Period before')}
      <span class="span"${hasYear ? nothing : html` data-year="${new Date(period.last * DAY_MS).getUTCFullYear()}"`}>${text}</span>
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

/** In a menu: fields of dates take long to draw, and few people need them. */
function dateFields({ query, period, addressOf }: PeriodControl): Html {
  const days = query.days ?? (period && [period.first, period.last])
  const [from = '', to = ''] = days?.map(formatDate) ?? []
  const address = addressOf({ preset: DEFAULT_PRESET, days: undefined })
  return html`
    <details class="menu dates">
      <summary>Dates</summary>
      <form method="get" action="${address.split('?')[0]}" class="sheet">
        ${hiddenFields(address)}
        <label><span>From</span> <input type="date" name="from" value="${from}"></label>
        <label><span>To</span> <input type="date" name="to" value="${to}"></label>
        <button class="small">Show</button>
      </form>
    </details>
  `
}

export function compareField({ compare }: PeriodQuery): Html {
  return html`
    <label><span class="hidden">Compare with</span>
      <select name="compare">
        <option value="">No comparison</option>
        ${Object.entries(comparisons).map(
          ([name, title]) =>
            html`<option value="${name}"${name === compare ? html` selected` : nothing}>${title}</option>`,
        )}
      </select>
    </label>
  `
}

/** The fields of an address, for a form that changes others. */
export function hiddenFields(address: string): Html[] {
  const query = new URLSearchParams(address.split('?')[1] ?? '')
  return [...query].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}
