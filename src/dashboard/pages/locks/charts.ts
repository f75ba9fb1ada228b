import { roundedRatio, sum } from '../../../contract/numbers.ts'
import type { LockStatistics } from '../../../stats/lock-statistics.ts'
import { figure, html, type Html, type Part } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { daysName } from '../../text/period.ts'
import { countText, durationText, numberText, percentText } from '../../text/text.ts'
import { daysBefore, figureTiles } from '../area.ts'
import { barPicture, beyondText, GRADES, type PartPicture } from '../parts.ts'
import type { Ending } from './endings.ts'
import { lockAddresses, lockedPercent, type ShownLocks } from './list.ts'
import { lockText, stateName } from './states.ts'

/** `▲ Locked 39 points above usual` of this week, where records are known up to now. */
export function lockVerdict(viewer: Viewer, shown: ShownLocks | undefined): string | undefined {
  const week = shown?.buckets.at(-1)
  if (week === undefined || shown?.usualByNow === undefined) return undefined
  const time = lockText('Locked', viewer)
  const words = { text: (by: number) => `${time} ${countText(by, 'point')}`, subject: ` ${time} time` }
  return beyondText(lockedPercent(week) ?? 0, shown.usualByNow, words)
}

export function lockTiles(viewer: Viewer, shown: ShownLocks, endings: ReadonlyMap<number, Ending> | undefined): Html {
  const { query, period, total, before, figures, former, counted, sessions } = shown
  const isKnown = total.knownSeconds > 0
  const late = sum([...(endings?.values() ?? [])].map(({ lateBreaks }) => lateBreaks))
  const practice = sessions.length - counted.length
  return figureTiles(
    [
      {
        name: stateName('locked', viewer),
        of: 'lockedPercent',
        value: lockedPercent(total),
        ...GRADES,
        before: before === undefined || before.total.knownSeconds === 0 ? undefined : lockedPercent(before.total),
        note: isKnown ? durationText(total.lockedSeconds) : undefined,
      },
      {
        name: 'Breaks',
        of: 'breaks',
        value: isKnown ? figures.breaks : null,
        text: numberText,
        before: former?.breaks,
        // Discreet mode hides rules.
        note: late === 0 || viewer.discreet ? undefined : html`<a href="#sessions">${numberText(late)} too long</a>`,
      },
      {
        name: 'Locks',
        of: 'lockSessions',
        value: figures.locks,
        text: numberText,
        before: former?.locks,
        note: practice === 0 ? undefined : `and ${numberText(practice)} not counted`,
      },
      {
        name: 'Longest stretch',
        of: 'longestLockedSeconds',
        value: longestOf(total),
        text: durationText,
        before: former && before && longestOf(before.total),
      },
    ],
    daysName(period),
    daysBefore(lockAddresses, query, period),
  )
}

function longestOf({ longestLockedSeconds }: LockStatistics): number | null {
  return longestLockedSeconds === 0 ? null : longestLockedSeconds
}

/** The percent of time locked by week, month or quarter. Not known is not 0. */
export function shares(
  viewer: Viewer,
  { buckets, time, earlier }: Pick<ShownLocks, 'buckets' | 'time' | 'earlier'>,
  { id = 'shares', news }: { readonly id?: string; readonly news?: Part } = {},
): PartPicture {
  const measured = (share: LockStatistics) => ({ value: lockedPercent(share), isEmpty: share.lockedSeconds === 0 })
  return barPicture(viewer, {
    id,
    title: lockText(`Locked by ${time.unit}`, viewer),
    empty: lockText('No locked time in this period', viewer),
    time,
    series: [
      { title: stateName('locked', viewer), look: 'solid', values: buckets.map(({ percent }) => percent) },
      {
        title: 'Breaks',
        look: 'break',
        values: buckets.map(one => roundedRatio(one.breakSeconds * 1000, one.knownSeconds, 10)),
      },
    ],
    measured: buckets.map(measured),
    earlier: earlier?.map(measured),
    isShare: true,
    news,
    ...GRADES,
    cellText: percentText,
    axisText: percentText,
  })
}

/** `43 %` of a time of which something is known. */
export function lockedFigure(share: LockStatistics, scope: string): Html {
  const percent = lockedPercent(share) ?? 0
  return figure(`lockedPercent ${scope}`, percent, percentText(percent))
}
