import { roundedRatio, sum } from '../../../contract/numbers.ts'
import type { KindTotals, SessionStats } from '../../../stats/training.ts'
import { kindName } from '../../text/names.ts'
import type { Viewer } from '../../page.ts'
import type { ChartUnit } from '../chart-unit.ts'
import { capital, unbroken } from '../../text/text.ts'

/** The sentences that sum up the charts of training sessions. */

export const NO_GRADES = 'No grades in this period'

const LIST = new Intl.ListFormat('en')

export function weekSummary(
  unit: ChartUnit,
  {
    average,
    current,
    hasParts,
  }: { readonly average: number | null; readonly current: number | undefined; readonly hasParts: boolean },
  text: (value: number) => string,
  textAfter = text,
): string {
  const now = current === undefined ? '' : `${(average === null ? text : textAfter)(current)} this ${unit} so far`
  if (average === null)
    return current === undefined || current === 0
      ? hasParts
        ? `Nothing in a whole ${unit}, so no average.`
        : 'Nothing in this period.'
      : `${capital(now)}; no whole ${unit} before it.`
  return `${capital(text(Math.round(average)))} in an average ${unit}${now === '' ? '' : `, ${now}`}.`
}

export function gradeSummary(sessions: readonly SessionStats[], averages: readonly (number | null)[]): string {
  const grades = sessions.flatMap(({ grade }) => (grade === null ? [] : [grade]))
  const [only] = grades
  if (only === undefined) return `${NO_GRADES}.`
  if (grades.length === 1) return `One session, with a grade of ${only}\u00a0%.`
  const known = averages.filter(average => average !== null)
  const first = Math.round(known[0] ?? 0)
  const last = Math.round(known.at(-1) ?? 0)
  const whole = `The mean of ${grades.length} session grades is ${roundedRatio(sum(grades), grades.length) ?? 0}\u00a0%`
  if (known.length < 8) return `${whole}; each is the mean of the grades of its segments.`
  const change = first === last ? `stayed at ${last}\u00a0%` : `went from ${first} to ${last}\u00a0%`
  return `${whole}; the average over seven sessions ${change}.`
}

export function kindSummary(viewer: Pick<Viewer, 'discreet'>, kinds: readonly KindTotals[]): string {
  const grades = kinds.flatMap(({ grade }) => grade ?? [])
  if (grades.length === 0) return `${NO_GRADES}.`
  const [highest, lowest] = [Math.max(...grades), Math.min(...grades)]
  const withGrade = (wanted: number) => {
    const names = kinds.flatMap(({ kind, grade }) => (grade === wanted ? unbroken(kindName(viewer, kind)) : []))
    return `${LIST.format(names)} (${wanted}\u00a0%)`
  }
  if (highest === lowest) return `${withGrade(highest)} on average.`
  return `Highest on average: ${withGrade(highest)}. Lowest: ${withGrade(lowest)}.`
}

/** The kinds whose grades differ between sessions. A sentence names the others. */
export function drawnKinds(kinds: readonly KindTotals[]): Set<string> {
  return new Set(kinds.flatMap(({ kind, grade, isSteady }) => (grade === null || isSteady ? [] : [kind])))
}

/** Names the kinds whose grades hardly differ; the others are drawn. */
export function steadyText(viewer: Viewer, kinds: readonly KindTotals[]): string {
  const names = kinds.filter(({ isSteady }) => isSteady).map(({ kind }) => unbroken(kindName(viewer, kind)))
  return names.length === 0 ? '' : ` Hardly any difference, so not drawn: ${names.join(', ')}.`
}

/** Said with the grades of all kinds, where there is no chart of each kind. */
export function allSteadyText(kinds: readonly KindTotals[]): string {
  return drawnKinds(kinds).size === 0 && kinds.some(({ isSteady }) => isSteady) ? ' By kind, grades hardly differ.' : ''
}
