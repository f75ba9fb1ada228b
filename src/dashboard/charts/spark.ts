import { html, type Html, nothing } from '../html.ts'

/** Small drawings that need no script and have no axis: a text beside them says what they show. */

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
