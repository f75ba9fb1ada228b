import { type Box, boxes, dots, levels, linePath, stretched } from '../../charts/plane.ts'
import { html, type Html } from '../../html.ts'
import { stat } from '../../layout/components.ts'
import { strip } from '../parts.ts'

/** Bars of a digit each: 9 is the full height. */
function bars(digits: string): Html {
  const width = 100 / digits.length
  const all = [...digits].map((digit, index): Box => {
    return { x: [(index + 0.12) * width, (index + 0.88) * width], y: [100 - Number(digit) * 10, 100] }
  })
  return html`${levels('grid', [{ x: [0, 100], y: 100 }])}${boxes('solid', all)}`
}

/** Dots on a line, of a digit each. */
function line(digits: string): Html {
  const points = [...digits].map((digit, index) => {
    return { at: ((index + 0.5) * 100) / digits.length, value: 100 - Number(digit) * 11 }
  })
  const place = { x: (at: number) => at, y: (value: number) => value }
  return html`${stretched(linePath('line', place, points))}${dots('filled', place, points)}`
}

const usual = boxes('usual', [{ x: [0, 100], y: [30, 55] }])

/** An overview of made-up records, for an account that has none. */
export const EXAMPLE = html`
  <figure class="card example">
    <figcaption><span class="state on">Example</span> <span>What this page shows once there are records</span></figcaption>
    <div class="stack" aria-hidden="true">
      <div><p class="big">Locked, day 3 of 7</p><p>▲ 420 repetitions above usual so far this week</p></div>
      <div class="tiles">
        <section class="card tile wide">
          <h2>Evening lock</h2>
          <dl class="stats">${stat('So far', '2 d 5 h', 'of 7 d')}${stat('Planned end', 'in 4 d 19 h')}${stat('Days locked', '18', 'of the last 28 days')}</dl>
          ${strip(bars('0038996000059996000399960794'), 72)}
          <span class="ends small muted"><span>28 days ago</span><span>Today</span></span>
        </section>
        <section class="card tile">
          <h2>This week</h2>
          <p class="big">2,180 <small>repetitions</small></p>
          <p class="muted">usually 1,500 to 1,760 by now</p>
          ${strip(bars('5060780'), 72)}
          <span class="ends small muted"><span>Monday</span><span>Sunday</span></span>
        </section>
        <section class="card tile">
          <h2>Last session</h2>
          <p class="big">92\u00a0% <small>grade</small></p>
          <p class="muted">◆ as usual (87 to 93\u00a0%)</p>
          ${strip(html`${usual}${line('4656577686')}`, 72)}
          <span class="small muted">Last 10 with this program</span>
        </section>
      </div>
    </div>
  </figure>
`
