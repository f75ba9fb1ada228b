import { ACCENT, APPROXIMATE_PATTERN, CARD, draw, emptyNote, INK, letterScale, pointsAlong, TIP } from './chart-draw.js'

/**
 * @import { ChartType } from './chart-draw.js'
 * @import { Row } from './chart-data.js'
 */

const HEIGHT = 64

/** Where a program has more runs, those of a segment are drawn as one block. */
const MAX_RUNS = 200

/**
 * The segments of a program as one strip: in their order, each run as wide as it is long.
 *
 * @type {ChartType}
 */
export const segments = {
  height: () => HEIGHT,
  draw(plot, host, { rows, title, empty }) {
    const blocks = blocksOf(rows)
    const end = blocks.at(-1)?.end ?? 0
    const scale = (host.clientWidth - 4) / Math.max(1, end)
    /** @type {(block: ReturnType<typeof blocksOf>[number]) => string | undefined} */
    const nameOf = ({ start, end, label, number }) =>
      [label, number].find(name => (end - start) * scale > (name.length * 7 + (name === label ? 8 : 1)) * letterScale())
    draw(plot, host, {
      title,
      height: HEIGHT,
      marginTop: 4,
      marginBottom: 4,
      marginLeft: 2,
      marginRight: 2,
      x: { domain: [0, Math.max(1, end)], axis: null },
      y: { axis: null },
      marks: [
        end === 0 ? emptyNote(plot, empty) : null,
        plot.rect(blocks, {
          x1: 'start',
          x2: 'end',
          insetLeft: 0.5,
          insetRight: 0.5,
          fill: 'fill',
          stroke: ACCENT,
          strokeWidth: 1,
          rx: 3,
        }),
        plot.text(blocks, { x: 'middle', text: nameOf, fill: 'ink', stroke: 'halo', strokeWidth: 10 }),
        plot.tip(
          pointsAlong(blocks, ({ start, end }) => [start, end], 12 / scale),
          plot.pointerX({ ...TIP, x: 'along', title: 'text' }),
        ),
      ],
    })
  },
}

/**
 * A block for each run of a segment.
 *
 * @param {readonly Row[]} rows
 */
function blocksOf(rows) {
  const runs = rows.reduce((sum, row) => sum + timesOf(row), 0)
  const blocks = []
  let start = 0
  let number = 0
  for (const row of rows) {
    const times = timesOf(row)
    const [count, width] = runs > MAX_RUNS ? [1, (row.number('width') ?? 0) * times] : [times, row.number('width') ?? 0]
    if (width <= 0) continue
    const look = row.flag('graded')
      ? { fill: ACCENT, ink: CARD, halo: 'none' }
      : { fill: APPROXIMATE_PATTERN, ink: INK, halo: CARD }
    for (let run = 0; run < count; run += 1) {
      const end = start + width
      const [label, text] = [row.text('label'), row.text('text')]
      number += 1
      blocks.push({ start, end, middle: (start + end) / 2, label, number: String(number), text, ...look })
      start = end
    }
  }
  return blocks
}

/** @param {Row} row */
function timesOf(row) {
  return Math.max(1, row.number('repeat') ?? 1)
}
