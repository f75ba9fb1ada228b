import { monthName, SHADES } from '../../charts/days.ts'
import type { YearStatistics } from '../../../stats/year.ts'
import { sharedAreas } from '../../layout/subject-notes.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { countText, percentText } from '../../text/text.ts'
import { lockedPercent } from '../locks/charts.ts'
import { lockText } from '../locks/states.ts'
import { drawnDays } from './days.ts'

/** The days of a year as a picture to keep: a file of its own, without names. */
export function yearPicture(viewer: Viewer, year: YearStatistics): Html {
  const areas = sharedAreas(viewer)
  const { training, share } = year.total
  const { sessions, days, reps } = training
  const figures = [
    ...(areas.includes('dtt')
      ? [countText(sessions, 'session'), countText(days, 'day'), countText(reps, 'repetition')]
      : []),
    ...(areas.includes('lkbx') && share.percent !== null
      ? [lockText(`${percentText(lockedPercent(share) ?? 0)} of the time locked`, viewer)]
      : []),
  ]
  const months = [...Map.groupBy(drawnDays(year.days), ({ date }) => date.slice(0, 7))]
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif" fill="#1f2426">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>
<text x="${EDGE}" y="72" font-size="44" font-weight="600">${year.year}</text>
<text x="${EDGE}" y="108" font-size="20" fill="#5b6468">${figures.join(' · ')}</text>
${months.map(
  (
    [month, days],
    row,
  ) => html`<text x="${EDGE}" y="${TOP + row * STEP + 20}" font-size="16" fill="#5b6468">${monthName(Date.parse(month))}</text>
${days.map(({ date, shade, lockedSeconds }) => {
  const x = LEFT + (Number(date.slice(8)) - 1) * STEP
  const y = TOP + row * STEP
  return html`<rect x="${x}" y="${y}" width="${CELL}" height="${CELL}" rx="5" fill="${FILLS[shade]}"/>${
    lockedSeconds > 0
      ? html`<rect x="${x + 6}" y="${y + CELL - 8}" width="${CELL - 12}" height="4" rx="2" fill="${shade === 'three' || shade === 'more' ? '#ffffff' : '#1f2426'}"/>`
      : nothing
  }`
})}
`,
)}<g font-size="16" fill="#5b6468">${legend(viewer)}</g>
</svg>
`
}

function legend(viewer: Viewer): Html {
  const y = TOP + 12 * STEP + 24
  const areas = sharedAreas(viewer)
  const swatch = (x: number, fill: string) =>
    html`<rect x="${x}" y="${y - 18}" width="${CELL}" height="22" rx="5" fill="${fill}"/>`
  return html`${
    areas.includes('dtt')
      ? html`<text x="${LEFT}" y="${y}">Repetitions: fewest</text>${SHADES.map((shade, index) => swatch(LEFT + 170 + index * STEP, FILLS[shade]))}<text x="${LEFT + 306}" y="${y}">most</text>`
      : nothing
  }${
    areas.includes('lkbx')
      ? html`${swatch(LEFT + 420, FILLS.none)}<rect x="${LEFT + 426}" y="${y - 4}" width="${CELL - 12}" height="4" rx="2"/><text x="${LEFT + 460}" y="${y}">${lockText('Under lock', viewer)}</text>`
      : nothing
  }`
}

const FILLS: Readonly<Record<(typeof SHADES)[number] | 'none', string>> = {
  none: '#eef0ee',
  one: '#c1d4d5',
  two: '#97b7b9',
  three: '#699799',
  more: '#2f6f73',
}

const EDGE = 48
const LEFT = 104
const TOP = 140
const STEP = 32
const CELL = 28
const WIDTH = LEFT + 31 * STEP + EDGE
const HEIGHT = TOP + 12 * STEP + 64
