import type { LockRules } from '../../stats/intervals.ts'
import { hidesTime } from '../../stats/status.ts'
import type { Viewer } from '../page.ts'

/** Shown in place of the planned end that a lock hides from its owner. */
export const HIDDEN = 'The end is hidden'

interface Lock {
  readonly isActive: boolean
  readonly rules: LockRules | undefined
}

/** Whether an active lock of an account hides its planned end and its length from the viewer. */
export function isTimeHidden({ session }: Viewer, owner: number, { isActive, rules }: Lock): boolean {
  return isActive && hidesTime(rules, session.accountId === owner)
}

/** The JSON text of a lock session without its length and its end. */
export function withoutTime(document: string): string {
  // The archive wrote it as an object.
  const { duration: _duration, endDate: _endDate, ...rest } = JSON.parse(document) as Record<string, unknown>
  return JSON.stringify(rest)
}
