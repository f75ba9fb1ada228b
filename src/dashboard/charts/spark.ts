import { html, type Html, nothing } from '../html.ts'

/** Small drawings that need no script and have no axis: a text beside them says what they show. */

interface SparkOptions {
  readonly text: string
  /** What a bar of the full height stands for; by default the highest value. */
  readonly highest?: number
  /** What the foot stands for. Above zero, lengths would mislead, so values are marks at their height. */
  readonly lowest?: number
  /** Whether the last value is of a time that is not over. */
  readonly isRunning?: boolean
}

/** A bar for each value, the newest at the right; none for null. */
export function sparkBars(values: readonly (number | null)[], options: SparkOptions): Html {
  const { text, highest = Math.max(...values.map(value => value ?? 0)), lowest = 0, isRunning = false } = options
  const heightOf = (value: number) =>
    highest <= lowest ? 0 : ((value - lowest) / (highest - lowest)) * (HEIGHT - MARK)
  const bars = values.map((value, index) => {
    if (value === null || (value === 0 && lowest === 0)) return nothing
    const top = heightOf(value)
    const [y, height] = lowest === 0 ? [HEIGHT - MARK - top, top + MARK] : [HEIGHT - MARK - top, MARK]
    const look = isRunning && index === values.length - 1 ? html` class="so-far"` : nothing
    return html`<rect${look} x="${index * STEP}" y="${y.toFixed(1)}" width="${STEP - GAP}" height="${height.toFixed(1)}"/>`
  })
  return html`<svg class="spark" viewBox="0 0 ${values.length * STEP - GAP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${text}">${bars}</svg>`
}

const HEIGHT = 40
const STEP = 10
const GAP = 2
/** How high a mark is, and the least height of a bar. */
const MARK = 3

/** A bar out of the whole. */
export function shareBar(part: number, name: string): Html {
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${name}"><rect class="whole" width="100" height="8"/><rect class="part" width="${(part * 100).toFixed(1)}" height="8"/></svg>`
}

/** A bar for a value in a table, which states it, with a line across it at what was aimed for. It needs no script. */
export function measureBar(value: number, aim: number, end: number, isHollow = false): Html {
  const at = (amount: number) => ((Math.max(0, Math.min(amount, end)) * MEASURE_WIDTH) / end).toFixed(1)
  if (end <= 0) return nothing
  return html`<svg class="measure" viewBox="0 0 ${MEASURE_WIDTH} 8" preserveAspectRatio="none" aria-hidden="true"><rect class="${isHollow ? 'hollow' : 'filled'}" y="1" width="${at(value)}" height="6"/>${
    aim > 0 ? html`<path d="M${at(aim)} 0v8"/>` : nothing
  }</svg>`
}

const MEASURE_WIDTH = 100
