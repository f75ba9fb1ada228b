import { html, type Html, nothing } from './html.ts'

interface Point {
  readonly grade: number | null
  readonly passed: boolean
}

/** A small line chart of grades, the newest at its right end. It needs no script. */
export function sparkLine(points: readonly Point[]): Html {
  const known = points.flatMap(({ grade, passed }) => (grade === null ? [] : [{ grade, passed }]))
  const last = known.at(-1)
  if (last === undefined || known.length < 2) return nothing
  const step = (WIDTH - 2 * EDGE) / (known.length - 1)
  // There is no axis, so the scale starts near the lowest grade.
  const low = Math.max(0, Math.min(...known.map(({ grade }) => grade)) - 10)
  const positioned = known.map(({ grade, passed }, index) => ({
    x: EDGE + index * step,
    y: EDGE + ((100 - grade) / Math.max(1, 100 - low)) * (HEIGHT - 2 * EDGE),
    passed,
  }))
  const text = `The last ${known.length} grades: ${known.map(({ grade }) => grade).join(', ')}`
  return html`
    <svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${text}">
      <polyline points="${positioned.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')}"/>
      ${positioned.map(
        ({ x, y, passed }) =>
          html`<circle class="${passed ? 'filled' : 'hollow'}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3"/>`,
      )}
    </svg>
  `
}

const WIDTH = 240
const HEIGHT = 56
const EDGE = 5
