import { html, type Html, nothing } from '../html.ts'

/** A bar for a value beside its text, with a line across it at what was aimed for. */
export function measureBar(value: number, aim: number, end: number, isHollow = false): Html {
  const at = (amount: number) => ((Math.max(0, Math.min(amount, end)) * MEASURE_WIDTH) / end).toFixed(1)
  if (end <= 0) return nothing
  return html`<svg class="measure" viewBox="0 0 ${MEASURE_WIDTH} 8" preserveAspectRatio="none" aria-hidden="true"><rect class="${isHollow ? 'hollow' : 'filled'}" y="1" width="${at(value)}" height="6"/>${
    aim > 0 ? html`<path d="M${at(aim)} 0v8"/>` : nothing
  }</svg>`
}

const MEASURE_WIDTH = 100
