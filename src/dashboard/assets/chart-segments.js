import { ACCENT, addPanels, APPROXIMATE_PATTERN, CARD, draw, emptyNote, INK, TIP } from './chart-draw.js'
import { amountText, lengthText, secondTicks } from './chart-format.js'

/**
 * @import { ChartType, Plot } from './chart-draw.js'
 * @import { Row } from './chart-data.js'
 */

const PANEL_HEIGHT = 78

const SCALES = [
  { measure: 'seconds', title: 'Time', format: lengthText },
  { measure: 'reps', title: 'Repetitions', format: amountText },
]

/**
 * The segments of a program one after another, to scale. Those that are counted in repetitions have a panel of their own.
 *
 * @type {ChartType}
 */
export const segments = {
  height: ({ rows }) => scalesOf(rows).map(({ title }) => ({ title, height: PANEL_HEIGHT })),
  draw(plot, host, { rows, empty }) {
    const scales = scalesOf(rows)
    const panels = addPanels(
      host,
      scales.map(({ title }) => title),
    )
    for (const [index, scale] of scales.entries()) {
      const panel = panels[index]
      if (panel !== undefined) drawScale(plot, panel, scale, { rows, empty })
    }
  },
}

/** @param {readonly Row[]} rows */
function scalesOf(rows) {
  return rows.length === 0
    ? SCALES.slice(0, 1)
    : SCALES.filter(({ measure }) => rows.some(row => (row.number(measure) ?? 0) > 0))
}

/**
 * @param {Plot} plot
 * @param {HTMLElement} panel
 * @param {(typeof SCALES)[number]} scale
 * @param {{ rows: readonly Row[]; empty: string }} chart
 */
function drawScale(plot, panel, { measure, title, format }, { rows, empty }) {
  const { blocks, end } = blocksOf(rows, measure, format)
  const scale = (panel.clientWidth - 24) / end
  draw(plot, panel, {
    title,
    height: PANEL_HEIGHT,
    marginTop: 4,
    marginLeft: 12,
    x: {
      domain: [0, end],
      label: null,
      ticks: measure === 'seconds' ? secondTicks(end, panel.clientWidth) : 5,
      tickFormat: format,
    },
    y: { axis: null },
    marks: [
      blocks.length === 0 ? emptyNote(plot, empty) : null,
      plot.rect(blocks, {
        x1: 'start',
        x2: 'end',
        insetLeft: 1,
        insetRight: 1,
        fill: 'fill',
        stroke: ACCENT,
        strokeWidth: 1,
        rx: 3,
      }),
      plot.text(
        blocks.filter(({ start, end, label }) => (end - start) * scale > label.length * 7 + 8),
        { x: 'middle', text: 'label', fill: 'ink', stroke: 'halo', strokeWidth: 10 },
      ),
      plot.tip(blocks, plot.pointerX({ ...TIP, x: 'middle', title: 'tip' })),
    ],
  })
}

/**
 * A block for each run of a segment, and where the last one ends.
 *
 * @param {readonly Row[]} rows
 * @param {string} measure
 * @param {(value: number) => string} format
 */
function blocksOf(rows, measure, format) {
  const blocks = []
  let end = 0
  for (const row of rows) {
    const length = row.number(measure) ?? 0
    if (length <= 0) continue
    const label = row.text('label')
    const repeat = row.number('repeat') ?? 1
    const look = row.flag('graded')
      ? { fill: ACCENT, ink: CARD, halo: 'none' }
      : { fill: APPROXIMATE_PATTERN, ink: INK, halo: CARD }
    const tip = `${label}\n${format(length)}${repeat > 1 ? `, ${repeat} times` : ''}`
    for (let run = 0; run < Math.max(1, repeat); run += 1) {
      blocks.push({ start: end, end: end + length, middle: end + length / 2, label, tip, ...look })
      end += length
    }
  }
  return { blocks, end: Math.max(1, end) }
}
