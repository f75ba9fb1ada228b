import type { LockRules } from '../../stats/intervals.ts'
import { html, type Html, nothing } from '../html.ts'
import type { Viewer } from '../page.ts'
import { label, stateLabels } from '../labels.ts'

/** The name of a state of a lock. Unknown states are shown as they are. */
export function stateName(state: string, { discreet }: Pick<Viewer, 'discreet'>): string {
  if (discreet) return neutralStates[state] ?? 'Other state'
  return stateLabels[state] ?? (state === '' ? 'Unknown' : state)
}

/** A text about locks; in discreet mode with neutral words. */
export function lockText(text: string, { discreet }: Pick<Viewer, 'discreet'>): string {
  return discreet ? neutralWords.reduce((changed, [word, neutral]) => changed.replaceAll(word, neutral), text) : text
}

const neutralWords = [
  ['Unlocked', 'Ended'],
  ['Locked', 'Active'],
  ['locked', 'active'],
  ['Under lock', 'Active'],
  ['under lock', 'active'],
] as const

const neutralStates: Readonly<Record<string, string>> = {
  pending: 'Pending',
  locked: 'Active',
  break: 'Paused',
  completed: 'Completed',
  abandoned: 'Ended early',
}

/** Marks a practice lock, which no sum includes. */
export function practiceMark(rules: LockRules | undefined): Html {
  return rules?.isPractice === true ? html` <span class="state">${label('isTestLock')}</span>` : nothing
}

export function stateMark(viewer: Pick<Viewer, 'discreet'>, state: string, isActive: boolean): Html {
  return html`<span class="state${isActive ? ' on' : ''}">${stateName(state, viewer)}</span>`
}
