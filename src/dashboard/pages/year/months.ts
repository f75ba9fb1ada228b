import { zoneClock } from '../../../stats/zone-clock.ts'
import type { YearStatistics } from '../../../stats/year.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Reader } from '../../page.ts'
import { timeOfDays } from '../../text/period.ts'
import { shares } from '../locks/charts.ts'
import { inParts, partPictures } from '../parts.ts'

/** The percent of time locked by month. */
export function lockedMonths({ viewer, now }: Reader, statistics: YearStatistics): Html {
  const { year, total, months, monthsBefore } = statistics
  if (total.locks.percent === null) return nothing
  const days = { first: total.from, last: Math.min(total.to, zoneClock(viewer.timeZone).dayOf(now)) }
  const time = inParts(timeOfDays(days, viewer.timeZone), now, viewer, 'month')
  const shown = { buckets: months, earlier: monthsBefore, time }
  const address = '/locks?from={from}&to={to}'
  return html`${partPictures(viewer, time, address, [shares(viewer, shown, `months-${year}`)], `figures-${year}`)}`
}
