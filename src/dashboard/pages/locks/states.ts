import type { LockSession } from '../../../contract/lock-sessions.ts'
import type { LockInterval, LockRules } from '../../../stats/intervals.ts'
import type { LockStats } from '../../../stats/lock-queries.ts'
import { hidesTime } from '../../../stats/status.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { label, stateLabels } from '../../text/labels.ts'

/** The archive wrote a record in the form of the contract. */
export function readLock(document: string): LockSession {
  return JSON.parse(document) as LockSession
}

export function stateName(state: string, { discreet }: Pick<Viewer, 'discreet'>): string {
  if (discreet) return neutralStates[state] ?? 'Other state'
  return stateLabels[state] ?? (state === '' ? 'Unknown' : state)
}

export function intervalName({ type }: Pick<LockInterval, 'type'>): string {
  return type === 'break' ? 'Break' : 'Open'
}

/** A text about locks; in discreet mode with neutral words. */
export function lockText(text: string, { discreet }: Pick<Viewer, 'discreet'>): string {
  return discreet ? neutralWords.reduce((changed, [word, neutral]) => changed.replaceAll(word, neutral), text) : text
}

const neutralWords = [
  ['Unlocked', 'Ended'],
  ['Locked', 'Active'],
  ['locked', 'active'],
] as const

const neutralStates: Readonly<Record<string, string>> = {
  pending: 'Pending',
  locked: 'Active',
  break: 'Paused',
  completed: 'Completed',
  abandoned: 'Ended early',
}

/**
 * When a lock session ended; null if it did not, or if nothing says when: sessions without an end and without an event after
 * their start count as ended at their start.
 */
export function knownEnd({ at, endAt }: { readonly at: number; readonly endAt: number | null }): number | null {
  return endAt !== null && endAt > at ? endAt : null
}

export function practiceMark(rules: LockRules | undefined): Html {
  return rules?.isPractice === true ? html` <span class="state">${label('isTestLock')}</span>` : nothing
}

export function stateMark(viewer: Pick<Viewer, 'discreet'>, state: string, isActive: boolean): Html {
  return html`<span class="state${isActive ? ' on' : ''}">${stateName(state, viewer)}</span>`
}

/** Shown in place of the planned end that a lock hides from its owner. */
export const HIDDEN = 'The end is hidden'

/** Whether an active lock of an account hides its planned end and its length from the viewer. */
export function isTimeHidden({ session }: Viewer, owner: number, lock: Pick<LockStats, 'isActive' | 'rules'>) {
  return lock.isActive && hidesTime(lock.rules, session.accountId === owner)
}

/** The JSON text of a lock session without its length and its end. */
export function withoutTime(document: string): string {
  // The archive wrote it as an object.
  const { duration: _duration, endDate: _endDate, ...rest } = JSON.parse(document) as Record<string, unknown>
  return JSON.stringify(rest)
}
