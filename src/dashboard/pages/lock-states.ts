import { html, type Html } from '../html.ts'
import { stateLabels } from '../labels.ts'

/** The name of a state of a lock. Unknown states are shown as they are. */
export function stateName(state: string): string {
  return stateLabels[state] ?? (state === '' ? 'Unknown' : state)
}

export function stateMark(state: string, isActive: boolean): Html {
  return html`<span class="state${isActive ? ' on' : ''}">${stateName(state)}</span>`
}
