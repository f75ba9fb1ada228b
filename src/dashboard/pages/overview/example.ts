import { boxes, dots, linePath, stretched } from '../../charts/plane.ts'
import { html, type Html } from '../../html.ts'
import { stat } from '../../layout/components.ts'
import { strip } from '../parts.ts'
import { dayBars, weekBars } from './tiles.ts'

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
      <div><p class="big">Locked, day 3 of 7</p><p>So far this week ▲ 2,180 repetitions, above usual</p></div>
      <div class="tiles">
        <section class="card tile wide">
          <h2>Evening lock</h2>
          <dl class="stats">${stat('So far', '2 d 5 h', 'of 7 d')}${stat('Planned end', 'in 4 d 19 h')}${stat('Days locked', '18', 'of the last 28 days')}</dl>
          ${dayBars([...'0038996000059996000399960794'].map(digit => Number(digit) * 11))}
          <span class="ends small muted"><span>28 days ago</span><span>Today</span></span>
        </section>
        <section class="card tile">
          <h2>This week</h2>
          <p class="big">2,180 <small>repetitions</small></p>
          <p class="muted">usually 1,500 to 1,760 by now</p>
          ${weekBars([420, 0, 510, 0, 640, 610, 0], 5)}
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
