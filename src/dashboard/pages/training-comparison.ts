import type { Filters, SessionStats, Totals, TrainingSummary } from '../../stats/training.ts'
import { mean } from '../../contract/numbers.ts'
import { stat, stats } from '../layout/components.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import type { Viewer } from '../page.ts'
import { countText, dateText, distanceText, NONE, numberText, unbroken } from '../text/text.ts'
import { comparisons, type PeriodQuery, ranges } from './training-period.ts'
import { percentText } from './training-summaries.ts'

/** The totals of a period, and how they differ from those of another one. */

/** The sessions that the shown ones are compared with. */
export interface Compared {
  readonly sessions: readonly SessionStats[]
  /** By the periods that are shown, moved to the compared time. */
  readonly summary: TrainingSummary
  /** Milliseconds from their period to the shown one. */
  readonly offset: number
  readonly title: string
}

/** A sentence on what changed. */
export function changeText(
  viewer: Viewer,
  query: PeriodQuery & Filters,
  [first]: readonly SessionStats[],
  now: Totals,
  then: Totals | undefined,
): string {
  const before = then?.sessions ?? 0
  const { range, day, from, compare } = query
  const count = countText(now.sessions, 'session')
  if (day !== undefined) return `${count} on this day.`
  if (first === undefined) {
    const isFiltered = query.kind !== undefined || query.program !== undefined || query.passed !== undefined
    const none = isFiltered ? 'No session of this period matches the filters' : 'No sessions in this period'
    return before === 0
      ? `${none}.`
      : `${none}; ${numberText(before)} ${compare === undefined ? 'in the period before' : comparisons[compare].text}.`
  }
  // Of sessions that were chosen by their result, the rate says nothing.
  const rated = query.passed === undefined
  const passed = rated ? `, ${percentText(now.passed, now.sessions)} passed` : ''
  const graded = now.grade === null ? '' : `, mean grade ${now.grade}\u00a0%`
  if (range === 'all' && from === undefined) return `${count} since ${dateText(viewer, first.at)}${passed}${graded}.`
  const title = from === undefined ? ranges[range].title : 'this period'
  const earlier = compare === undefined ? 'in the period before' : comparisons[compare].text
  const thenText = compare === 'year' ? 'a year before' : 'before'
  if (then === undefined || before === 0)
    return `${count} in ${title}${passed}${graded}; nothing ${earlier} to compare with.`
  const grade =
    now.grade === null || then.grade === null
      ? ''
      : now.grade === then.grade
        ? `the mean grade stayed at ${now.grade}\u00a0%`
        : `the mean grade went from ${then.grade} to ${now.grade}\u00a0%`
  const rate = `${percentText(now.passed, now.sessions)} passed (${percentText(then.passed, before)} ${thenText})`
  const changes = [...(rated ? [rate] : []), ...(grade === '' ? [] : [grade])].join(', and ')
  return `${count} in ${title}, ${numberText(before)} ${earlier}${changes === '' ? '' : `. ${capitalised(changes)}`}.`
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** The sums of the period, with differences where it is compared. */
export function totalTiles(viewer: Viewer, { passed }: Filters, now: Totals, compared: Compared | undefined): Html {
  if (now.sessions === 0) return nothing
  const then = compared === undefined || compared.sessions.length === 0 ? undefined : compared.summary.totals
  const tile = (
    name: string,
    value: Part,
    of: (totals: Totals) => number | null,
    text: (value: number) => string,
    differenceText = text,
  ) => {
    const before = then === undefined ? undefined : of(then)
    return stat(name, value, differenceNote(of(now), before, compared?.title, { text, differenceText }))
  }
  const isKnown = now.distance !== null
  const distance = ({ measured, approximate }: Totals) => (isKnown ? measured + approximate : null)
  const rate = ({ passed, sessions }: Totals) => mean(passed * 100, sessions)
  const percent = (value: number) => `${numberText(value)}\u00a0%`
  const points = (value: number) => unbroken(countText(value, 'point'))
  return stats(
    tile('Sessions', numberText(now.sessions), ({ sessions }) => sessions, numberText),
    passed !== undefined ? nothing : tile('Passed', percentText(now.passed, now.sessions), rate, percent, points),
    tile('Mean grade', now.grade === null ? NONE : percent(now.grade), ({ grade }) => grade, percent, points),
    tile('Repetitions', numberText(now.reps), ({ reps }) => reps, numberText),
    tile('Distance', isKnown ? distanceText(viewer, distance(now) ?? 0) : NONE, distance, value =>
      distanceText(viewer, value),
    ),
  )
}

function differenceNote(
  now: number | null,
  then: number | null | undefined,
  title: string | undefined,
  { text, differenceText }: Record<'text' | 'differenceText', (value: number) => string>,
): Part | undefined {
  if (title === undefined) return undefined
  if (now === null || then == null) return html`${title}: ${NONE}`
  const difference = now - then
  const sign = difference > 0 ? '+' : '−'
  return html`${title}: ${text(then)} (${difference === 0 ? 'the same' : `${sign}${differenceText(Math.abs(difference))}`})`
}
