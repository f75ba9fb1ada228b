import { gradeOfKind, type SessionStats } from '../../stats/training.ts'
import { kindName } from '../names.ts'
import type { Viewer } from '../page.ts'
import { unbroken } from '../text.ts'

/** The kinds that had one grade in all of several sessions, and that grade. They need a sentence, and no picture. */
export function constantGrades(sessions: readonly SessionStats[], kinds: readonly string[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const kind of kinds) {
    let grade: number | null = null
    let count = 0
    const isConstant = sessions.every(session => {
      const own = gradeOfKind(session, kind)
      if (own === null) return true
      grade ??= own
      count += 1
      return own === grade
    })
    if (isConstant && count > 1 && grade !== null) found.set(kind, grade)
  }
  return found
}

export function constantText(viewer: Viewer, constant: ReadonlyMap<string, number>): string {
  if (constant.size === 0) return ''
  const kinds = [...constant].map(([kind, grade]) => unbroken(`${kindName(viewer, kind)} (${grade} %)`))
  return ` The same in every session, so not drawn: ${kinds.join(', ')}.`
}
