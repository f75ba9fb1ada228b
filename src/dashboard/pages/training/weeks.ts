import { countedUntil } from '../../../stats/status.ts'
import type { Totals } from '../../../stats/training.ts'
import type { Viewer } from '../../page.ts'
import { countText, distanceIn, distanceText, numberText } from '../../text/text.ts'
import { barPicture, type Measured, type PartPicture } from '../parts.ts'
import type { ShownSessions } from './grades.ts'

/** Repetitions and distance by week, month or quarter. */

export function repetitionsPicture(
  viewer: Viewer,
  shown: ShownSessions,
  goal: number | undefined,
  now: number,
): PartPicture {
  const { time } = shown
  return barPicture(viewer, {
    ...sharedOf(viewer, shown, now, ({ reps }) => reps),
    id: 'repetitions',
    title: `Repetitions per ${time.unit}`,
    empty: 'No repetitions in this period',
    series: [{ title: 'Repetitions', look: 'solid', values: shown.summary.periods.map(({ reps }) => reps) }],
    goal:
      goal === undefined || time.unit !== 'week'
        ? undefined
        : { value: goal, text: `Weekly goal: ${numberText(goal)}` },
    more: { title: 'Sessions', cells: shown.summary.periods.map(({ sessions }) => numberText(sessions)) },
    text: value => countText(value, 'repetition'),
    cellText: numberText,
    differenceText: numberText,
  })
}

export function distancePicture(viewer: Viewer, shown: ShownSessions, now: number): PartPicture {
  const { time, summary } = shown
  const inUnits = (micrometres: number) => distanceIn(viewer.units, micrometres)[0]
  const [, measure] = distanceIn(viewer.units, 0)
  const isApproximate = summary.periods.some(({ approximate }) => approximate > 0)
  const known = ({ distance }: Totals, value: number) => (distance === null ? null : inUnits(value))
  const isKnown = summary.periods.some(({ sessions, distance }) => sessions > 0 && distance !== null)
  return barPicture(viewer, {
    ...sharedOf(viewer, shown, now, ({ distance }) => (distance === null || !isKnown ? null : inUnits(distance))),
    id: 'distance',
    title: `Distance per ${time.unit} (${measure})`,
    empty: 'No distance is known in this period',
    note: isApproximate ? 'Lightly hatched distances may have been estimated.' : undefined,
    series: [
      {
        title: `${isApproximate ? 'Measured' : 'Distance'} (${measure})`,
        look: 'solid',
        values: summary.periods.map(totals => known(totals, totals.measured)),
      },
      ...(isApproximate
        ? [
            {
              title: `Approximate (${measure})`,
              look: 'approximate' as const,
              values: summary.periods.map(totals => known(totals, totals.approximate)),
            },
          ]
        : []),
    ],
    cellText: numberText,
    text: value => distanceText(viewer, value * (viewer.units === 'imperial' ? 304_800 : 1_000_000)),
  })
}

/** What both have, with what a week is measured by. */
function sharedOf(
  viewer: Viewer,
  { time, summary, earlier, compared }: ShownSessions,
  now: number,
  valueOf: (totals: Totals) => number | null,
) {
  const knownUntil = countedUntil(viewer.asOf, now)
  const measuredIn = (parts: typeof time.parts, periods: readonly Totals[]): Measured[] =>
    periods.map((totals, index) => {
      const isKnown = (parts[index]?.begin ?? 0) <= knownUntil || totals.sessions > 0
      return { value: isKnown ? valueOf(totals) : null, isEmpty: totals.sessions === 0 }
    })
  return {
    time,
    measured: measuredIn(time.parts, summary.periods),
    earlier: measuredIn(time.earlier, earlier.periods),
    // There may be nothing to compare with.
    compared:
      compared === undefined || compared.sessions.length === 0
        ? undefined
        : { title: compared.title, values: compared.summary.periods.map(valueOf) },
  }
}
