import { html, type Html } from '../html.ts'
import { stateLabels } from '../labels.ts'

/** A state of a lock. The set is open: one that is not known is shown as it is. */
export function stateName(state: string): string {
  return stateLabels[state] ?? (state === '' ? 'Unknown' : state)
}

export function stateMark(state: string, isActive: boolean): Html {
  return html`<span class="state${isActive ? ' on' : ''}">${stateName(state)}</span>`
}
