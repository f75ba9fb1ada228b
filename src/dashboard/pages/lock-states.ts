import type { LockRules } from '../../stats/intervals.ts'
import { html, type Html, nothing } from '../html.ts'
import { label, stateLabels } from '../labels.ts'

/** The name of a state of a lock. Unknown states are shown as they are. */
export function stateName(state: string): string {
  return stateLabels[state] ?? (state === '' ? 'Unknown' : state)
}

/** A mark of locks for practice, which are not in any sum. */
export function practiceMark(rules: LockRules | undefined): Html {
  return rules?.isPractice === true ? html` <span class="state">${label('isTestLock')}</span>` : nothing
}

export function stateMark(state: string, isActive: boolean): Html {
  return html`<span class="state${isActive ? ' on' : ''}">${stateName(state)}</span>`
}
