import { html, type Html } from '../html.ts'

/** A bar for a value beside its text, with a line across it at what was aimed for. */
export function measureBar(value: number, aim: number, isHollow = false): Html {
  const at = (amount: number) => ((Math.max(0, amount) * 100) / Math.max(value, aim)).toFixed(1)
  return html`<svg class="measure" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="${isHollow ? 'hollow' : 'filled'}" y="1" width="${at(value)}" height="6"/><path d="M${at(aim)} 0v8"/></svg>`
}
