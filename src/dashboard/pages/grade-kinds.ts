import { type SessionStats, totalsByKind } from '../../stats/training.ts'
import { kindName } from '../names.ts'
import type { Viewer } from '../page.ts'
import { unbroken } from '../text.ts'

/** The kinds that had the same grade in all of several sessions, and that grade. A sentence says it; they are not drawn. */
export function constantGrades(sessions: readonly SessionStats[], kinds: readonly string[]): Map<string, number> {
  const totals = totalsByKind(sessions).filter(({ kind }) => kinds.includes(kind))
  return new Map(totals.flatMap(({ kind, constantGrade }) => (constantGrade === null ? [] : [[kind, constantGrade]])))
}

export function constantText(viewer: Viewer, constant: ReadonlyMap<string, number>): string {
  if (constant.size === 0) return ''
  const kinds = [...constant].map(([kind, grade]) => unbroken(`${kindName(viewer, kind)} (${grade} %)`))
  return ` The same in every session, so not drawn: ${kinds.join(', ')}.`
}
