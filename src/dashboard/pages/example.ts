import { formatDate } from '../../contract/time.ts'
import { daysCalendar, SHADES } from '../charts/days.ts'
import { boxes, valueScale } from '../charts/plane.ts'
import { html, type Html, type Part } from '../html.ts'
import { resultMark, stat } from '../layout/components.ts'
import { numberText, percentText } from '../text/text.ts'
import { dayBars, lastResults, weekBars } from './parts.ts'

/** What a page shows of made-up records, for an account that has none. */
export function example(...cards: readonly Html[]): Html {
  return html`
    <figure class="card example">
      <figcaption><span><span class="state on">Example</span> What this page shows once there are records</span></figcaption>
      <div class="tiles" aria-hidden="true">${cards}</div>
    </figure>
  `
}

function tile(title: string, figure: string, unit: Part, note: string, drawing: Html): Html {
  return html`<section class="card tile"><h2>${title}</h2><p class="big">${figure} <small>${unit}</small></p><p class="muted">${note}</p>${drawing}</section>`
}

const grades = (digits: string) => [...digits].map(digit => ({ value: 84 + Number(digit), isPassed: digit !== '0' }))
const scale = valueScale([80, 100], percentText)
const usualIn = ({ axes, y }: typeof scale, low: number, high: number) =>
  html`${axes}${boxes('usual', [{ x: [0, 100], y: [y(high), y(low)] }])}`
const shares = (digits: string) => [...digits].map(digit => Number(digit) * 11)
const times = (begin: string, end: string) =>
  html`<svg class="times" y="100%"><text class="main begin" x="0%">${begin}</text><text class="main end" x="100%">${end}</text></svg>`
const weeks = (digits: string, behind: Html) =>
  html`<div class="plot">${dayBars(shares(digits), digits.length - 1, html`${behind}${times('9 weeks ago', 'This week')}`)}</div>`

const ten = (digits: string, begin: string, end: string) =>
  html`<div class="plot">${lastResults(grades(digits), scale.y, '90', html`${usualIn(scale, 88, 92)}${times(begin, end)}`, 112)}</div>`
const LAST_TEN = ten('4656577086', '9 sessions ago', 'Last')
const PASSED = html`grade\u00a0 ${resultMark(true)}`
const BY_NOW = 'usually 1,500 to 1,760 by now'

export const EXAMPLE_OVERVIEW = [
  html`<div class="tile wide"><h2>Locked, day 3 of 7</h2><p>So far this week: 2,180 repetitions, ▲\u00a0above\u00a0usual</p></div>`,
  html`
    <section class="card tile wide">
      <h2>Seven day lock</h2>
      <dl class="stats">${stat('So far', '2 d 5 h', html`of 7 d<progress max="7" value="2.2"></progress>`)}${stat('Planned end', 'in 4 d 19 h')}${stat('Days with a lock', '18', 'of the last 28 days')}</dl>
      <div class="days-strip">${dayBars(shares('0038996000059996000399760794'))}<span class="ends small muted"><span>1 Nov</span><span>Hours locked, of 24</span><span>Today</span></span></div>
    </section>
  `,
  tile('This week', '2,180', 'repetitions', BY_NOW, weekBars([420, 0, 510, 0, 640, 610, 0], 5)),
  tile('Last session', '90\u00a0%', PASSED, '◆ grade as usual (88 to 92\u00a0%)', LAST_TEN),
]

const REPS = weeks('4745663788', usualIn(valueScale([0, 2500], numberText), 1500, 1760))
export const EXAMPLE_TRAINING = [
  tile('Grade', '90\u00a0%', 'this week so far', 'last week 92\u00a0%', ten('4656576786', '9 weeks ago', 'This week')),
  tile('Repetitions per week', '2,180', 'this week so far', BY_NOW, REPS),
]

export const EXAMPLE_PROGRAM = tile('Interval program', '90\u00a0%', 'median', '9 of the last 10 passed', LAST_TEN)

const LOCKED = weeks('3504435546', usualIn(valueScale([0, 100], percentText), 33, 50))
export const EXAMPLE_LOCKS = [tile('Locked by week', '67\u00a0%', 'of this week so far', 'usually 33 to 50 %', LOCKED)]

const dayLooks = Array.from({ length: 179 }, (_, day) => {
  const shade = day % 7 === 3 || day % 5 === 1 ? 'none' : (SHADES[((day * 7) % 11) % SHADES.length] ?? 'none')
  return { date: formatDate(20_454 + day), look: `${shade}${day % 16 > 9 ? ' under' : ''}`, text: '' }
})

export const EXAMPLE_YEAR = html`
  <section class="card tile wide">
    <h2>Days</h2>
    ${daysCalendar(dayLooks)}
    <p class="small muted">The darker, the more repetitions; a line: locked.</p>
  </section>
`
