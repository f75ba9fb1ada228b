import { roundedRatio } from '../../../contract/numbers.ts'
import type { Filters, SessionStats, Totals, TrainingSummary } from '../../../stats/training.ts'
import { stat, stats } from '../../layout/components.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { comparedText, type Days, type Period, periodText } from '../../text/period.ts'
import {
  capital,
  countText,
  dateText,
  distanceText,
  NONE,
  numberText,
  partText,
  percentText,
  unbroken,
} from '../../text/text.ts'
import { addressOf, isFiltered, type TrainingQuery } from './filters.ts'

/** The totals of a period, and how they differ from those of another one. */

/** The sessions that the shown ones are compared with. */
export interface Compared {
  readonly days: Days
  readonly sessions: readonly SessionStats[]
  /** By the periods that are shown, moved to the compared time. */
  readonly summary: TrainingSummary
  readonly title: string
}

interface Shown {
  readonly query: TrainingQuery
  /** Undefined for all days. */
  readonly period: Period | undefined
  readonly sessions: readonly SessionStats[]
  readonly totals: Totals
}

/** A sentence on what changed. What it is compared with links to the page that shows it. */
export function changeText(viewer: Viewer, shown: Shown, before: Compared | undefined): Html | string {
  const { query, period, sessions, totals } = shown
  const [first] = sessions
  const count = countText(totals.sessions, 'session')
  const { figures, changes } = figuresText(query, totals, before?.summary.totals)
  if (period === undefined || before === undefined) {
    return first === undefined ? `${noSessions(shown)}.` : `${count} since ${dateText(viewer, first.at)}${figures}.`
  }
  const then = before.sessions.length
  const when = comparedText(period, query.compare)
  const { days } = before
  const link = html`<a href="${addressOf(query, { days: [days.first, days.last], compare: undefined })}">${numberText(then)} ${when}</a>`
  if (first === undefined) return then === 0 ? `${noSessions(shown)}.` : html`${noSessions(shown)}; ${link}.`
  const start = `${count} ${periodText(period)}`
  return then === 0 ? `${start}${figures}; nothing ${when} to compare with.` : html`${start}, ${link}${changes}.`
}

function noSessions({ query, period }: Shown): string {
  const when = period === undefined ? '' : ` ${periodText(period)}`
  return isFiltered(query) ? `No session${when} matches the filters` : `No sessions${when}`
}

/** The figures of sessions alone, and how they differ from those before. Of sessions chosen by their result, the rate says nothing. */
function figuresText({ passed, compare }: TrainingQuery, now: Totals, then: Totals | undefined) {
  const rated = passed === undefined
  const rate = `${partText(now.passed, now.sessions)} passed`
  const grade = now.grade === null ? [] : [`mean grade ${now.grade}\u00a0%`]
  const figures = [...(rated ? [rate] : []), ...grade].map(text => `, ${text}`).join('')
  if (then === undefined) return { figures, changes: '' }
  const before = compare === 'year' ? 'a year before' : 'before'
  const change =
    now.grade === null || then.grade === null
      ? []
      : now.grade === then.grade
        ? [`the mean grade stayed at ${now.grade}\u00a0%`]
        : [`the mean grade went from ${then.grade} to ${now.grade}\u00a0%`]
  const rates = rated ? [`${rate} (${partText(then.passed, then.sessions)} ${before})`] : []
  const text = [...rates, ...change].join(', and ')
  return { figures, changes: text === '' ? '' : `. ${capital(text)}` }
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
  const rate = ({ passed, sessions }: Totals) => roundedRatio(passed * 100, sessions)
  const points = (value: number) => unbroken(countText(value, 'point'))
  return stats(
    tile('Sessions', numberText(now.sessions), ({ sessions }) => sessions, numberText),
    passed !== undefined ? nothing : tile('Passed', partText(now.passed, now.sessions), rate, percentText, points),
    tile('Mean grade', now.grade === null ? NONE : percentText(now.grade), ({ grade }) => grade, percentText, points),
    tile('Repetitions', numberText(now.reps), ({ reps }) => reps, numberText),
    tile('Distance', isKnown ? distanceText(viewer, distance(now) ?? 0) : NONE, distance, value =>
      distanceText(viewer, value),
    ),
  )
}

export function differenceNote(
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
