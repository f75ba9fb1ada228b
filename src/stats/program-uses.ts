import type { SessionStats } from './training.ts'

/** How often a program was run, and with what result. */
export interface ProgramUse {
  readonly program: number
  readonly sessions: number
  readonly passed: number
  /** When the last session with it was recorded. */
  readonly last: number
}

/** The use of every program that sessions were run with, by its identifier; cached by the list of sessions. */
export function programUses(sessions: readonly Pick<SessionStats, 'program' | 'passed' | 'at'>[]) {
  return computed.getOrInsertComputed(sessions, computeProgramUses)
}

const computed = new WeakMap<
  readonly Pick<SessionStats, 'program' | 'passed' | 'at'>[],
  ReadonlyMap<number, ProgramUse>
>()

function computeProgramUses(sessions: readonly Pick<SessionStats, 'program' | 'passed' | 'at'>[]) {
  const uses = new Map<number, { program: number; sessions: number; passed: number; last: number }>()
  for (const { program, passed, at } of sessions) {
    const use = uses.getOrInsertComputed(program, () => ({ program, sessions: 0, passed: 0, last: at }))
    use.sessions += 1
    use.passed += passed ? 1 : 0
    use.last = Math.max(use.last, at)
  }
  return uses
}
