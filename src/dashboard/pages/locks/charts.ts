import { roundedRatio } from '../../../contract/numbers.ts'
import { DAY_MS } from '../../../contract/time.ts'
import { breaksOf } from '../../../stats/intervals.ts'
import type { LockStatistics } from '../../../stats/lock-statistics.ts'
import { figure, html, type Html } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { comparedText, daysName, periodText } from '../../text/period.ts'
import { countText, dateText, durationText, numberText, percentText, round1, unbroken } from '../../text/text.ts'
import { addressOf, figureTiles } from '../area.ts'
import { barPicture, type PartPicture, partPictures } from '../parts.ts'
import type { Endings } from './endings.ts'
import { lockAddresses, type ShownLocks } from './list.ts'
import { lockText, stateName } from './states.ts'

/** The figures and the chart of time under lock. */

/** `43 % of the time under lock in the last 12 weeks; 51 % in the 12 weeks before.` */
export function shareText(viewer: Viewer, { query, period, total, before, first }: ShownLocks): Html {
  const when = period === undefined ? `since ${dateText({ timeZone: 'UTC' }, first * DAY_MS)}` : periodText(period)
  if (total.knownSeconds === 0) return html`${lockText(`No time under lock is known ${when}.`, viewer)}`
  const text = html`${lockedFigure(total, daysName(period))} ${lockText(`of the time under lock ${when}`, viewer)}`
  if (period === undefined || before === undefined || before.total.knownSeconds === 0) return html`${text}.`
  const address = addressOf(lockAddresses, query, { days: [before.first, before.last] })
  return html`${text}; <a href="${address}">${lockedFigure(before.total, daysName(before))} ${comparedText(period)}</a>.`
}

export function lockTiles(viewer: Viewer, shown: ShownLocks, endings: Endings | undefined): Html {
  const { period, total, counted, sessions, time } = shown
  const shownIntervals = counted.flatMap(({ intervals }) =>
    intervals.filter(({ start, end }) => start < time.to && end > time.from),
  )
  const isKnown = total.knownSeconds > 0
  const practice = sessions.length - counted.length
  // Discreet mode hides rules.
  const late = viewer.discreet ? 0 : (endings?.lateBreaks ?? 0)
  const notes = [
    ...(practice === 0 ? [] : [`${numberText(practice)} not counted`]),
    ...(endings === undefined || endings.later === 0 ? [] : [`${numberText(endings.later)} ended later than planned`]),
    ...(endings === undefined || endings.earlier === 0
      ? []
      : [`${numberText(endings.earlier)} ended earlier than planned`]),
  ]
  return figureTiles(
    [
      {
        name: stateName('locked', viewer),
        of: 'lockedPercent',
        value: lockedPercent(total),
        text: percentText,
        note: isKnown ? durationText(total.lockedSeconds) : undefined,
      },
      {
        name: 'Breaks',
        of: 'breaks',
        value: isKnown ? breaksOf(shownIntervals).count : null,
        text: numberText,
        note: late === 0 ? undefined : `${numberText(late)} over the maximum`,
      },
      { name: 'Sessions', of: 'lockSessions', value: counted.length, text: numberText, note: notes.join(', ') },
      {
        name: lockText('Longest locked stretch', viewer),
        of: 'longestLockedSeconds',
        value: total.longestLockedSeconds === 0 ? null : total.longestLockedSeconds,
        text: durationText,
      },
    ],
    daysName(period),
  )
}

/** The percent of time locked by week, month or quarter. Not known is not 0. */
export function sharePicture(viewer: Viewer, shown: ShownLocks): Html {
  return partPictures(viewer, shown.time, '/locks?from={from}&to={to}', [shares(viewer, shown)])
}

/** The same as a part of other pages. */
export function shares(
  viewer: Viewer,
  { buckets, time, earlier }: Pick<ShownLocks, 'buckets' | 'time' | 'earlier'>,
  id = 'shares',
): PartPicture {
  const measured = ({ percent, lockedSeconds }: LockStatistics) => ({ value: percent, isEmpty: lockedSeconds === 0 })
  return barPicture(viewer, {
    id,
    title: lockText(`Percent of time locked by ${time.unit}`, viewer),
    empty: lockText('No locked time in this period', viewer),
    isWide: true,
    time,
    series: [
      { title: stateName('locked', viewer), look: 'solid', values: buckets.map(({ percent }) => percent) },
      { title: 'Breaks', look: 'open', values: buckets.map(breakPercent) },
    ],
    measured: buckets.map(measured),
    earlier: earlier.map(measured),
    text: percentText,
    differenceText: value => unbroken(countText(round1(value), 'point')),
    axisText: percentText,
  })
}

function breakPercent({ breakSeconds, knownSeconds }: LockStatistics): number | null {
  return roundedRatio(breakSeconds * 1000, knownSeconds, 10)
}

/** Rounded once: the percent of a share has a decimal. */
export function lockedPercent({ lockedSeconds, knownSeconds }: LockStatistics): number | null {
  return roundedRatio(lockedSeconds * 100, knownSeconds)
}

/** `43 %` of a time of which something is known. */
export function lockedFigure(share: LockStatistics, scope: string): Html {
  const percent = lockedPercent(share) ?? 0
  return figure(`lockedPercent ${scope}`, percent, percentText(percent))
}
