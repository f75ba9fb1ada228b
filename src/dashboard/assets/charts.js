import { bars } from './chart-bars.js'
import { addPanels } from './chart-draw.js'
import { grade, gradeByKind } from './chart-grade.js'
import { rates } from './chart-rates.js'
import { segments } from './chart-segments.js'
import { readTable } from './chart-table.js'
import { targets } from './chart-targets.js'
import { timeline } from './chart-timeline.js'

/**
 * Draws the charts of a page from its tables. A `[data-chart]` names its type; it has a `.plot` for the drawing, and a
 * table or the id of another chart that has one. The plot library is loaded when the first chart comes into view.
 */

/** @import { ChartType, Plot } from './chart-draw.js' */

/** @type {Readonly<Record<string, ChartType>>} */
const chartTypes = { grade, 'grade-by-kind': gradeByKind, bars, rates, targets, segments, timeline }

/** @type {Map<Element, Mounted>} */
const mounted = new Map()

for (const section of document.querySelectorAll('[data-chart]')) {
  if (!(section instanceof HTMLElement)) continue
  try {
    const chart = mount(section)
    reserveSpace(chart)
    mounted.set(section, chart)
  } catch (error) {
    showTable(section, error)
  }
}

if (document.readyState === 'complete') drawInView()
else addEventListener('load', drawInView)

function drawInView() {
  const observer = new IntersectionObserver(
    entries => {
      for (const { isIntersecting, target } of entries) {
        const chart = mounted.get(target)
        if (!isIntersecting || chart === undefined) continue
        observer.unobserve(target)
        show(chart).catch((/** @type {unknown} */ error) => showTable(chart.section, error))
      }
    },
    { rootMargin: '300px' },
  )
  for (const section of mounted.keys()) observer.observe(section)
}

/** @typedef {ReturnType<typeof mount>} Mounted */

/** @param {HTMLElement} section */
function mount(section) {
  const { chart = '', source } = section.dataset
  const chartType = chartTypes[chart]
  const host = section.querySelector('.plot')
  const table = (source === undefined ? section : document.querySelector(`#${CSS.escape(source)}`))?.querySelector(
    'table',
  )
  if (chartType === undefined || !(host instanceof HTMLElement) || table == null) {
    throw new Error('its type, its .plot or its table is missing')
  }
  return { section, chartType, host, table }
}

/** @param {Mounted} chart */
function reserveSpace({ chartType, host, table }) {
  const height = chartType.height(table, host)
  if (typeof height === 'number') {
    host.style.minHeight = `${height}px`
    return
  }
  const panels = addPanels(
    host,
    height.map(({ title }) => title),
  )
  for (const [index, panel] of panels.entries()) {
    const space = document.createElement('div')
    space.style.height = `${height[index]?.height ?? 0}px`
    panel.append(space)
  }
}

/**
 * Draws a chart now, and again when its width changes.
 *
 * @param {Mounted} chart
 */
async function show({ section, chartType, host, table }) {
  const plot = await loadPlot()
  const chart = {
    ...readTable(table),
    data: section.dataset,
    title: section.querySelector('h2')?.textContent.trim() ?? '',
    empty: section.dataset.empty ?? '',
  }
  let width = 0
  const redraw = () => {
    if (host.clientWidth === width || host.clientWidth === 0) return
    width = host.clientWidth
    host.replaceChildren()
    chartType.draw(plot, host, chart)
    host.style.minHeight = ''
  }
  redraw()
  new ResizeObserver(() => {
    try {
      redraw()
    } catch (error) {
      showTable(section, error)
    }
  }).observe(host)
}

/**
 * Logs the error and opens the table of a chart that cannot be drawn.
 *
 * @param {HTMLElement} section
 * @param {unknown} error
 */
function showTable(section, error) {
  console.error(`The chart "${section.dataset.chart}" cannot be drawn:`, error)
  section.querySelector('.plot')?.remove()
  section.classList.add('failed')
  const details = section.querySelector('details')
  if (details !== null) details.open = true
}

/** @type {Promise<Plot> | undefined} */
let loading

/** Loads Plot and d3 once. They are scripts, not modules; the page has their addresses. */
function loadPlot() {
  loading ??= loadGlobalPlot()
  return loading
}

async function loadGlobalPlot() {
  const script = document.querySelector('script[data-plot]')
  if (!(script instanceof HTMLScriptElement)) throw new Error('the page does not say where Plot is')
  await loadScript(script.dataset.d3 ?? '')
  await loadScript(script.dataset.plot ?? '')
  return /** @type {{ Plot: Plot }} The script defines it. */ (/** @type {unknown} */ (globalThis)).Plot
}

/**
 * @param {string} url
 * @returns {Promise<void>}
 */
function loadScript(url) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = url
    script.addEventListener('load', () => resolve())
    script.addEventListener('error', () => reject(new Error(`${url} did not load`)))
    document.head.append(script)
  })
}
