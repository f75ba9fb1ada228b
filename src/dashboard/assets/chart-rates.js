import { ACCENT, draw, emptyNote, INK, LINE, MUTED } from './chart-draw.js'
import { amountText } from './chart-format.js'

/** @import { ChartType } from './chart-draw.js' */

/**
 * Passed of all, as a bar for each row; grey if there are too few to compare.
 *
 * @type {ChartType}
 */
export const rates = {
  height: ({ rows }) => heightOf(rows.length),
  draw(plot, host, { rows, title, data, empty }) {
    const few = Number(data.few)
    const narrow = isNarrow()
    const bars = rows.map(row => {
      const total = row.number('total') ?? 0
      const passed = row.number('passed') ?? 0
      return {
        label: row.text('label'),
        share: total === 0 ? 0 : passed / total,
        text: `${amountText(passed)} / ${amountText(total)} (${row.text('rate')})`,
        ...(total < few ? { fill: MUTED, opacity: 0.45, ink: MUTED } : { fill: ACCENT, opacity: 1, ink: INK }),
      }
    })
    const right = 16 + Math.max(60, ...bars.map(({ text }) => text.length * 6.4))
    const left = 12 + Math.max(60, ...bars.map(({ label }) => label.length * 6.6))
    draw(plot, host, {
      title,
      height: heightOf(rows.length),
      marginTop: 4,
      marginLeft: narrow ? 4 : Math.min(left, host.clientWidth * 0.4),
      marginRight: narrow ? 16 : right,
      x: { domain: [0, 1], label: null, tickFormat: percentText, ticks: [0, 0.5, 1] },
      y: {
        axis: narrow ? null : 'left',
        domain: bars.map(({ label }) => label),
        label: null,
        tickSize: 0,
        padding: narrow ? 0.55 : 0.35,
      },
      marks: [
        narrow
          ? plot.axisY({ label: null, tickSize: 0, tickPadding: 0, textAnchor: 'start', dy: -20, fill: INK })
          : null,
        bars.length === 0 ? emptyNote(plot, empty) : null,
        plot.barX(bars, { x1: 0, x2: 1, y: 'label', fill: LINE, fillOpacity: 0.6, rx: 3 }),
        plot.barX(bars, { x1: 0, x2: 'share', y: 'label', fill: 'fill', fillOpacity: 'opacity', rx: 3 }),
        plot.text(bars, {
          x: 1,
          y: 'label',
          ...(narrow ? { dy: -20, textAnchor: 'end' } : { dx: 8, textAnchor: 'start' }),
          fill: 'ink',
          text: 'text',
        }),
      ],
    })
  },
}

/**
 * Whether the labels have to be above the bars, because there is no room next to them. Asked before the first paint, so it must
 * not need a layout of the page, which takes far longer on a phone than all else that this module does.
 */
function isNarrow() {
  return matchMedia('(max-width: 485px)').matches
}

/** @param {number} count */
function heightOf(count) {
  return Math.max(90, count * (isNarrow() ? 48 : 34) + 34)
}

/** @param {number} share */
function percentText(share) {
  return `${Math.round(share * 100)}\u00a0%`
}
