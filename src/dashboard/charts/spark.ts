import { html, type Html, nothing } from '../html.ts'

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
  const grades = known.map(({ grade }) => grade)
  const [lowest, highest] = [Math.min(...grades), Math.max(...grades)]
  // There is no axis, so the scale starts near the lowest grade. Grades may be below 0 or above 100.
  const low = Math.max(Math.min(0, lowest), lowest - 10)
  const high = Math.max(100, highest)
  const positioned = known.map(({ grade, passed }, index) => ({
    x: EDGE + index * step,
    y: EDGE + ((high - grade) / Math.max(1, high - low)) * (HEIGHT - 2 * EDGE),
    passed,
  }))
  const text = `The last ${known.length} grades: ${grades.join(', ')}`
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
