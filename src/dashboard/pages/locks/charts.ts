import { roundedRatio } from '../../../contract/numbers.ts'
import { DAY_MS } from '../../../contract/time.ts'
import { breaksOf } from '../../../stats/intervals.ts'
import type { LockedShare } from '../../../stats/lock-statistics.ts'
import { figure, html, type Html } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { comparedText, comparisons, daysName, periodText } from '../../text/period.ts'
import { countText, dateText, durationText, NONE, numberText, percentText, round1, unbroken } from '../../text/text.ts'
import { addressOf, figureTiles } from '../area.ts'
import { barPicture, type PartPicture, partPictures } from '../parts.ts'
import { type Endings, endingsText } from './endings.ts'
import { lockAddresses, type LockTime, type ShownLocks } from './filters.ts'
import { lockText, stateName } from './states.ts'

/** The figures and the chart of time under lock. */

/** `43 % of the time under lock in the last 12 weeks, 13 d 6 h a month; 51 % in the 12 weeks before.` */
export function shareText(viewer: Viewer, { query, period, total, before, first, last }: ShownLocks): Html {
  const when = period === undefined ? `since ${dateText({ timeZone: 'UTC' }, first * DAY_MS)}` : periodText(period)
  if (total.knownSeconds === 0) return html`${lockText(`No time under lock is known ${when}.`, viewer)}`
  const isLong = last - first >= MIN_DAYS_FOR_MONTHS
  const amount = isLong
    ? `${durationText((total.lockedSeconds / total.knownSeconds) * MONTH_SECONDS)} a month`
    : durationText(total.lockedSeconds)
  const text = html`${lockedFigure(total, daysName(period))} ${lockText(`of the time under lock ${when}, ${amount}`, viewer)}`
  if (period === undefined || before === undefined || before.total.knownSeconds === 0) return html`${text}.`
  const address = addressOf(lockAddresses, query, { days: [before.first, before.last], compare: undefined })
  return html`${text}; <a href="${address}">${lockedFigure(before.total, daysName(before))} ${comparedText(period, query.compare)}</a>.`
}

const MIN_DAYS_FOR_MONTHS = 56
const MONTH_SECONDS = (365.25 * 24 * 3600) / 12

export function lockTiles(viewer: Viewer, shown: ShownLocks, endings: Endings | undefined): Html {
  const { query, period, total, counted, sessions } = shown
  const compared = knownBefore(shown)
  const [now, then] = [figuresOf(shown), compared && figuresOf(compared)]
  const states = [...Map.groupBy(counted, ({ state }) => stateName(state, viewer).toLowerCase())]
  const practice = sessions.length - counted.length
  const outcomes = states.map(([name, { length: count }]) => `${numberText(count)} ${name}`).join(', ')
  const uncounted =
    practice === 0
      ? ''
      : `${outcomes === '' ? '' : '; '}${numberText(practice)}${outcomes === '' ? '' : ' more'} not counted`
  const ended = endings === undefined ? '' : endingsText(endings)
  // Discreet mode hides rules.
  const late = viewer.discreet ? 0 : (endings?.lateBreaks ?? 0)
  const isKnown = total.knownSeconds > 0
  const length = (seconds: number) => durationText(seconds)
  const tile = (name: string, of: keyof typeof now, text: (value: number) => string, note?: string) => {
    return { name, of, value: now[of], before: then?.[of], text, note }
  }
  const figures = [
    tile(
      stateName('locked', viewer),
      'lockedPercent',
      percentText,
      isKnown ? `${length(total.lockedSeconds)}${knownText(shown)}` : undefined,
    ),
    tile(
      'Breaks',
      'breaks',
      numberText,
      (now.breaks ?? 0) === 0
        ? undefined
        : `${length(total.breakSeconds)}, longest ${length(now.longestBreak)}${late === 0 ? '' : `; ${numberText(late)} over the maximum`}`,
    ),
    tile('Sessions', 'lockSessions', numberText, [`${outcomes}${uncounted}`, ended].filter(Boolean).join('; ')),
    tile(lockText('Longest locked stretch', viewer), 'longestLockedSeconds', length),
  ]
  const title = query.compare && comparisons[query.compare]
  return figureTiles(figures, {
    scope: daysName(period),
    compared: title === undefined ? undefined : { title, scope: daysName(shown.before) },
  })
}

/** What is shown beside the period, if anything is known of it: nothing known is not 0. */
function knownBefore({ query, before }: Pick<ShownLocks, 'query' | 'before'>) {
  return query.compare !== undefined && before !== undefined && before.total.knownSeconds > 0 ? before : undefined
}

function figuresOf({ counted, from, to, total }: LockTime) {
  const breaks = breaksOf(counted.flatMap(({ intervals }) => intervals.filter(one => one.start < to && one.end > from)))
  return {
    lockedPercent: lockedPercent(total),
    breaks: total.knownSeconds > 0 ? breaks.count : null,
    longestBreak: breaks.longest / 1000,
    lockSessions: counted.length,
    longestLockedSeconds: total.longestLockedSeconds === 0 ? null : total.longestLockedSeconds,
  }
}

/** ` of 40 d that are known`, where not all of the time is. */
function knownText({ total, until, from, to }: ShownLocks): string {
  const unknown = (Math.min(to, until) - from) / 1000 - total.knownSeconds
  return unknown >= MAX_UNKNOWN_SECONDS ? ` of ${durationText(total.knownSeconds)} that are known` : ''
}

/** The day of the first session is known in part. */
const MAX_UNKNOWN_SECONDS = 86_400

/** The percent of time locked by week, month or quarter. Not known is not 0. */
export function sharePicture(viewer: Viewer, shown: ShownLocks): Html {
  return partPictures(viewer, shown.time, '/locks?from={from}&to={to}', [shares(viewer, shown)])
}

/** The same as a part of other pages. */
export function shares(
  viewer: Viewer,
  shown: Pick<ShownLocks, 'buckets' | 'time' | 'query' | 'earlier' | 'before'>,
  id = 'shares',
): PartPicture {
  const { buckets, time, query } = shown
  const compared = knownBefore(shown)
  const measured = ({ percent, lockedSeconds }: LockedShare) => ({ value: percent, isEmpty: lockedSeconds === 0 })
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
    earlier: shown.earlier.map(measured),
    compared: compared && {
      title: query.compare === undefined ? '' : comparisons[query.compare],
      values: buckets.map((_, index) => compared.buckets[index]?.percent ?? null),
    },
    more: {
      title: lockText('Time locked', viewer),
      cells: buckets.map(({ lockedSeconds, percent }) =>
        percent === null ? NONE : lockedSeconds === 0 ? '0\u00a0h' : durationText(lockedSeconds),
      ),
    },
    text: percentText,
    differenceText: value => unbroken(countText(round1(value), 'point')),
    axisText: percentText,
  })
}

function breakPercent({ breakSeconds, knownSeconds }: LockedShare): number | null {
  return roundedRatio(breakSeconds * 1000, knownSeconds, 10)
}

/** Rounded once: the percent of a share has a decimal. */
export function lockedPercent({ lockedSeconds, knownSeconds }: LockedShare): number | null {
  return roundedRatio(lockedSeconds * 100, knownSeconds)
}

/** `43 %` of a time of which something is known. */
export function lockedFigure(share: LockedShare, scope: string): Html {
  const percent = lockedPercent(share) ?? 0
  return figure(`lockedPercent ${scope}`, percent, percentText(percent))
}
