/** What all charts share: one call to Plot, colours, patterns, and panels for charts of several parts. */

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
 * @property {string} empty The text where there is nothing to draw.
 * @property {DOMStringMap} data
 */

/**
 * @typedef {object} ChartType
 * @property {(data: ChartData, host: HTMLElement) => number | readonly PanelHeight[]} height Known before the chart is
 *   drawn, so that its space is reserved and the page does not move.
 * @property {(plot: Plot, host: HTMLElement, chart: Chart) => void} draw
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
export const APPROXIMATE_PATTERN = 'url(#hatch-approximate)'

/** The options that all tooltips have. */
export const TIP = { lineHeight: 1.4, textPadding: 10, stroke: 'var(--edge)' }

/**
 * Draws one SVG. A click on a mark opens the link of its row.
 *
 * @param {Plot} plot
 * @param {HTMLElement} host
 * @param {Omit<PlotOptions, 'title'> & { title: string }} options
 */
export function draw(plot, host, { title, ...options }) {
  const drawing = plot.plot({
    width: Math.max(200, Math.floor(host.clientWidth)),
    marginTop: 12,
    marginRight: 12,
    marginBottom: 28,
    marginLeft: 36,
    style: { background: 'none', color: MUTED, fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' },
    ...options,
  })
  drawing.setAttribute('role', 'img')
  drawing.setAttribute('aria-label', title)
  drawing.prepend(patterns())
  // Plot labels groups with the names of marks, which do not help screen readers. The whole chart has a label.
  for (const group of drawing.querySelectorAll('g[aria-label]')) {
    group.setAttribute('data-mark', group.getAttribute('aria-label') ?? '')
    group.removeAttribute('aria-label')
  }
  const target = () => /** @type {{ href?: string } | null} The datum under the pointer. */ (drawing.value)?.href
  drawing.addEventListener('click', () => {
    const href = target()
    if (href !== undefined) location.assign(href)
  })
  drawing.addEventListener('input', () => drawing.classList.toggle('linked', target() !== undefined))
  host.append(drawing)
}

/**
 * The text in the middle of a chart without data.
 *
 * @param {Plot} plot
 * @param {string} text
 */
export function emptyNote(plot, text) {
  return plot.text([text], { frameAnchor: 'middle', fill: MUTED, fontSize: 13 })
}

/**
 * Adds a panel with a heading for each title. All are added before one is drawn, as their number decides their width.
 *
 * @param {HTMLElement} host
 * @param {readonly string[]} titles
 */
export function addPanels(host, titles) {
  return titles.map(title => {
    const panel = document.createElement('div')
    const heading = document.createElement('h3')
    heading.textContent = title
    panel.append(heading)
    host.append(panel)
    return panel
  })
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
  for (const { id, angle, weight, wash } of [
    { id: 'hatch-open', angle: 45, weight: 1.5, wash: 0.1 },
    { id: 'hatch-so-far', angle: -45, weight: 3, wash: 0.3 },
    { id: 'hatch-approximate', angle: 45, weight: 1, wash: 0.06 },
  ]) {
    const pattern = svgElement('pattern', {
      id,
      width: 6,
      height: 6,
      patternUnits: 'userSpaceOnUse',
      patternTransform: `rotate(${angle})`,
    })
    pattern.append(
      svgElement('rect', { width: 6, height: 6, style: `fill:${ACCENT};opacity:${wash}` }),
      svgElement('rect', { width: weight, height: 6, style: `fill:${ACCENT}` }),
    )
    defs.append(pattern)
  }
  return defs
}

/**
 * @param {string} name
 * @param {Readonly<Record<string, string | number>>} attributes
 */
function svgElement(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  return element
}
