/** What all charts share: one call to Plot, colours, patterns, and panels for charts of several parts. */

import { to } from './addresses.js'
import { dayMonthText } from './chart-format.js'
import { make } from './elements.js'

/**
 * @import { PlotOptions } from '@observablehq/plot'
 * @import { ChartData, Column, Row } from './chart-data.js'
 */

/** @typedef {typeof import('./plot.js')} Plot */

/**
 * @typedef {object} Chart What a chart is drawn from.
 * @property {string} title
 * @property {readonly Column[]} columns
 * @property {readonly Row[]} rows
 * @property {readonly Date[]} ticks Instants that are marked.
 * @property {ChartData['overlay']} overlay
 * @property {string} empty The text where there is nothing to draw.
 * @property {DOMStringMap} data
 */

/**
 * @typedef {object} ChartType
 * @property {(data: ChartData) => number | readonly PanelHeight[]} height Known before the chart is drawn and the page is laid
 *   out, so that its space is reserved and the page does not move.
 * @property {(plot: Plot, host: HTMLElement, chart: Chart, panel: number) => void} draw Draws one panel of the chart into its
 *   host, or all of a chart that has no panels.
 */

/** @typedef {{ readonly title: string; readonly height: number }} PanelHeight */

export const ACCENT = 'var(--accent)'
export const CARD = 'var(--card)'
export const INK = 'var(--ink)'
export const LINE = 'var(--line)'
export const MUTED = 'var(--muted)'
export const WARN = 'var(--warn)'

export const OPEN_PATTERN = 'url(#hatch-open)'
export const SO_FAR_PATTERN = 'url(#hatch-so-far)'
export const BREAK_PATTERN = 'url(#hatch-break)'
export const APPROXIMATE_PATTERN = 'url(#hatch-approximate)'

/**
 * The options that all tooltips have. They show wherever the pointer is: marks may be larger than the usual distance. Without a
 * fill they would be white in every theme, as Plot's own styles are in no layer and so win.
 */
export const TIP = { fill: CARD, lineHeight: 1.4, textPadding: 10, stroke: 'var(--edge)', maxRadius: Infinity }

/** The line of the compared period. */
export const BEFORE_LINE = { stroke: WARN, strokeWidth: 1.75, strokeDasharray: '6 4' }

/** How much larger than usual the letters of this browser are; charts have as large ones. */
export function letterScale() {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
}

/** @param {HTMLElement} host */
export function widthForLetters(host) {
  return host.clientWidth / letterScale()
}

/**
 * Draws one SVG; its height and margins are for letters of the usual size. A click on a mark opens the link of its row.
 *
 * @param {Plot} plot
 * @param {HTMLElement} host
 * @param {Omit<PlotOptions, 'title' | 'height'> & { title: string; height: number }} options
 */
export function draw(
  plot,
  host,
  { title, height, marginTop = 12, marginRight = 12, marginBottom = 28, marginLeft = 36, ...more },
) {
  const scale = letterScale()
  const drawing = plot.plot({
    width: Math.max(200, Math.floor(host.clientWidth)),
    height: height * scale,
    marginTop: marginTop * scale,
    marginRight: marginRight * scale,
    marginBottom: marginBottom * scale,
    marginLeft: marginLeft * scale,
    style: { background: 'none', color: MUTED, fontFamily: 'inherit', fontSize: '0.75rem', overflow: 'visible' },
    ...more,
  })
  drawing.setAttribute('role', 'img')
  drawing.setAttribute('aria-label', title)
  drawing.prepend(patterns())
  // Plot labels groups with the names of marks, which do not help screen readers. The whole chart has a label.
  for (const mark of drawing.querySelectorAll('[aria-label]')) {
    mark.setAttribute('data-mark', mark.getAttribute('aria-label') ?? '')
    mark.removeAttribute('aria-label')
  }
  const target = () => /** @type {{ href?: string } | null} The datum under the pointer. */ (drawing.value)?.href
  openOnClick(drawing, target)
  drawing.addEventListener('input', () => drawing.classList.toggle('linked', target() !== undefined))
  host.querySelector(':scope > .space')?.remove()
  host.append(drawing)
}

const DAY_MS = 86_400_000

/**
 * Ticks of an axis of time: days, the first days of weeks, or what suits longer times.
 *
 * @param {Date} start
 * @param {Date} end
 * @param {number} width in pixels, for letters of the usual size
 */
export function timeTicks(start, end, width) {
  const days = (end.getTime() - start.getTime()) / DAY_MS
  // Ticks of less than a day would not help.
  if (days < 14) return { ticks: 'day' }
  if (days > 210) return { ticks: Math.max(2, width / 90) }
  const weeks = Math.max(1, Math.ceil(((days / 7) * 64) / width))
  // 1970-01-05 was a Monday.
  const monday = Math.ceil((start.getTime() / DAY_MS - 4) / 7) * 7 + 4
  const ticks = []
  for (let day = monday; day * DAY_MS <= end.getTime(); day += 7 * weeks) ticks.push(new Date(day * DAY_MS))
  return { ticks, tickFormat: dayMonthText }
}

/**
 * A click opens the link of the mark. A finger cannot hover: its first tap shows the tooltip, a second one on the same mark
 * opens the link.
 *
 * @param {Element} drawing
 * @param {() => string | undefined} target
 */
function openOnClick(drawing, target) {
  /** @type {string | undefined} */
  let shown
  let isTouch = false
  drawing.addEventListener('pointerdown', event => {
    isTouch = event instanceof PointerEvent && event.pointerType === 'touch'
  })
  drawing.addEventListener('click', () => {
    const href = target()
    const isSecond = href === shown
    shown = href
    if (href !== undefined && (!isTouch || isSecond)) location.assign(to(href))
  })
}

/**
 * Points along blocks, so that the pointer finds the block that it is over, and not the one whose middle is nearest.
 *
 * @template {object} Block
 * @param {readonly Block[]} blocks
 * @param {(block: Block) => readonly [start: number, end: number]} ends
 * @param {number} step the distance of two points
 * @returns {(Block & { readonly along: number })[]}
 */
export function pointsAlong(blocks, ends, step) {
  return blocks.flatMap(block => {
    const [start, end] = ends(block)
    const count = Math.max(1, Math.min(200, Math.ceil((end - start) / step)))
    return Array.from({ length: count }, (_, index) => ({
      ...block,
      along: start + ((index + 0.5) * (end - start)) / count,
    }))
  })
}

/**
 * The text in the middle of a chart without data.
 *
 * @param {Plot} plot
 * @param {string} text
 */
export function emptyNote(plot, text) {
  return plot.text([text], { frameAnchor: 'middle', fill: MUTED })
}

/**
 * Replaces what a chart shows with panels that have a heading and the space that their drawing takes. All are added before one is
 * drawn, as their number decides their width.
 *
 * @param {HTMLElement} host
 * @param {readonly PanelHeight[]} heights
 */
export function addPanels(host, heights) {
  const panels = heights.map(({ title, height }) => {
    const panel = make('div')
    const space = make('div', { className: 'space' })
    space.style.height = `${height / 16}rem`
    panel.append(make('h3', { textContent: title }), space)
    return panel
  })
  host.replaceChildren(...panels)
  return panels
}

/**
 * The instant in the middle of two.
 *
 * @param {Date} start
 * @param {Date} end
 */
export function middleOf(start, end) {
  return new Date((start.getTime() + end.getTime()) / 2)
}

/** The patterns that fill marks. Charts of a page repeat them with the same ids, which is harmless: they are equal. */
function patterns() {
  const defs = svgElement('defs', {})
  for (const { id, angle, weight, wash, colour = ACCENT } of [
    { id: 'hatch-open', angle: 45, weight: 1.5, wash: 0.1 },
    { id: 'hatch-so-far', angle: -45, weight: 3, wash: 0.3 },
    { id: 'hatch-approximate', angle: 90, weight: 1, wash: 0.06 },
    { id: 'hatch-break', angle: 45, weight: 1, wash: 0, colour: 'var(--edge)' },
  ]) {
    const pattern = svgElement('pattern', {
      id,
      width: 6,
      height: 6,
      patternUnits: 'userSpaceOnUse',
      patternTransform: `rotate(${angle})`,
    })
    pattern.append(
      svgElement('rect', { width: 6, height: 6, style: `fill:${colour};opacity:${wash}` }),
      svgElement('rect', { width: weight, height: 6, style: `fill:${colour}` }),
    )
    defs.append(pattern)
  }
  return defs
}

/**
 * @param {string} name
 * @param {Readonly<Record<string, string | number>>} attributes
 * @returns {SVGElement}
 */
export function svgElement(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  return element
}
