import { formatDate } from '../../../contract/calendar.ts'
import { roundedRatio, sum } from '../../../contract/numbers.ts'
import { DAY_MS } from '../../../contract/time.ts'
import type { LockedShare } from '../../../stats/lock-statistics.ts'
import type { YearStatistics } from '../../../stats/year.ts'
import { monthName } from '../../charts/days.ts'
import { card } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { durationText, NONE, percentText } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'

/** The percent of time locked by month, and its trend. It needs no script. */

/** A month, with the percent of the three months up to it together; null where nothing is known. */
interface LockedMonth extends LockedShare {
  readonly name: string
  readonly address: string
  readonly trend: number | null
}

function lockedByMonth({ year, months }: YearStatistics): LockedMonth[] {
  return months.map((share, index) => {
    const three = months.slice(index - TREND_MONTHS + 1, index + 1)
    const isKnown = index >= TREND_MONTHS - 1 && three.every(({ percent }) => percent !== null)
    const [from, to] = [index, index + 1].map((month, end) => formatDate(Date.UTC(year, month) / DAY_MS - end))
    return {
      ...share,
      name: monthName(Date.UTC(2000, index)),
      address: `/locks?from=${from}&to=${to}`,
      trend: isKnown ? percentOfAll(three) : null,
    }
  })
}

const TREND_MONTHS = 3

function percentOfAll(shares: readonly LockedShare[]): number | null {
  const locked = sum(shares.map(({ lockedSeconds }) => lockedSeconds))
  return roundedRatio(locked * 1000, sum(shares.map(({ knownSeconds }) => knownSeconds)), 10)
}

export function lockedMonths(viewer: Viewer, year: YearStatistics): Html {
  const months = lockedByMonth(year)
  const { percent } = year.total.share
  if (percent === null) return nothing
  const hasTrend = months.filter(({ trend }) => trend !== null).length > 1
  return card(
    lockText('Percent of time locked, by month', viewer),
    html`
      <p class="summary">${lockText(`${percentText(percent)} of the time was locked.`, viewer)} ${trendText(months)}</p>
      ${monthBars(viewer, months)}
      ${hasTrend ? html`<ul class="legend"><li><i class="mark trend"></i>Three months together</li></ul>` : nothing}
    `,
  )
}

/** How the last three months compare with the three before them. */
function trendText(months: readonly LockedMonth[]): string {
  const whole = months.filter(({ partial }) => !partial)
  const [last, before] = [whole.at(-1)?.trend ?? null, whole.at(-1 - TREND_MONTHS)?.trend ?? null]
  if (last === null || before === null) return ''
  const name = (index: number) => whole.at(index)?.name ?? ''
  return `${name(-TREND_MONTHS)} to ${name(-1)}: ${percentText(last)}, the three months before: ${percentText(before)}.`
}

/** Bars from 0 to 100, with the trend as a line. The drawing is stretched, so names and figures are text below it, which links to months. */
function monthBars(viewer: Viewer, months: readonly LockedMonth[]): Html {
  const title = lockText('Percent of time locked', viewer)
  const text = months.map(({ name, percent }) => `${name} ${percent === null ? 'unknown' : percentText(percent)}`)
  const line = months
    .flatMap(({ trend }, index) => (trend === null ? [] : [`${index * STEP + STEP / 2},${heightOf(trend)}`]))
    .join(' ')
  return html`
    <div class="month-bars">
      <svg viewBox="0 0 ${12 * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${text.join(', ')}">
        ${months.map(({ percent, partial }, index) => {
          if (percent === null) return nothing
          const y = heightOf(percent)
          return html`<rect${partial ? html` class="so-far"` : nothing} x="${index * STEP + (STEP - BAR) / 2}" y="${y}" width="${BAR}" height="${(HEIGHT - Number(y)).toFixed(1)}"/>`
        })}
        <path d="M0 ${HEIGHT}H${12 * STEP}"/>
        ${line.includes(' ') ? html`<polyline points="${line}"/>` : nothing}
      </svg>
      <ol>${months.map(({ name, address, percent, lockedSeconds, knownSeconds }) => {
        const figure = html`${name} <b>${roundedRatio(lockedSeconds * 100, knownSeconds) ?? NONE}</b>`
        const text = percent === null ? '' : `${percentText(percent)} locked, ${durationText(lockedSeconds)}`
        return html`<li>${text === '' ? html`<span>${figure}</span>` : html`<a href="${address}" title="${name}: ${lockText(text, viewer)}">${figure}</a>`}`
      })}</ol>
    </div>
  `
}

const STEP = 30
const HEIGHT = 110
const BAR = 18

function heightOf(percent: number): string {
  return (HEIGHT - (percent * HEIGHT) / 100).toFixed(1)
}
