import { bars } from './chart-bars.js'
import { printTable } from './chart-print.js'
import { addPanels } from './chart-draw.js'
import { readData } from './chart-data.js'
import { grade, gradeByKind } from './chart-grade.js'
import { segments } from './chart-segments.js'
import { spread, spreadByKind } from './chart-spread.js'
import { timeline } from './chart-timeline.js'

/**
 * Draws the charts of a page. A `[data-chart]` names its type; it has a `.plot` for the drawing, and its data or the id of
 * another chart that has it. The plot library is loaded when the first chart comes into view. A link to a table loads it
 * into the card.
 */

/** @import { ChartType, Plot } from './chart-draw.js' */

/** @type {Readonly<Record<string, ChartType>>} */
const chartTypes = {
  grade,
  'grade-by-kind': gradeByKind,
  spread,
  'spread-by-kind': spreadByKind,
  bars,
  segments,
  timeline,
}

/** @type {Map<Element, Mounted>} */
const mounted = new Map()

export function enableCharts() {
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
  enableTables()
  enablePrinting()
}

function drawInView() {
  const observer = new IntersectionObserver(
    entries => {
      for (const { isIntersecting, target } of entries) {
        const chart = mounted.get(target)
        if (!isIntersecting || chart === undefined) continue
        observer.unobserve(target)
        loadPlot()
          .then(plot => draw(chart, plot, later))
          .catch((/** @type {unknown} */ error) => showTable(chart.section, error))
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
  const owner = source === undefined ? section : document.querySelector(`#${CSS.escape(source)}`)
  if (chartType === undefined || !(host instanceof HTMLElement) || !(owner instanceof HTMLElement)) {
    throw new Error('its type, its .plot or its data is missing')
  }
  return { section, chartType, host, data: readData(owner) }
}

/** @param {Mounted} chart */
function reserveSpace({ chartType, host, data }) {
  const height = chartType.height(data)
  if (typeof height === 'number') host.style.minHeight = `${height / 16}rem`
  else addPanels(host, height)
}

/**
 * Draws a chart now, and again when its width changes.
 *
 * @param {Mounted} chart
 * @param {Plot} plot
 * @param {(task: () => void) => void} run Runs what draws a panel.
 */
function draw({ section, chartType, host, data }, plot, run) {
  if (drawn.has(section)) return
  drawn.add(section)
  const chart = {
    ...data,
    data: section.dataset,
    title: section.querySelector('h2')?.textContent.trim() ?? '',
    empty: section.dataset.empty ?? '',
  }
  let width = 0
  const redraw = (/** @type {(task: () => void) => void} */ run) => {
    if (host.clientWidth === width || host.clientWidth === 0) return
    const drawnWidth = host.clientWidth
    width = drawnWidth
    const height = chartType.height(data)
    const panels = typeof height === 'number' ? [host] : addPanels(host, height)
    for (const [index, panel] of panels.entries()) {
      run(() => {
        // By now, the chart may have been redrawn at another width, or have failed.
        if (width !== drawnWidth || section.classList.contains('failed')) return
        try {
          if (panel === host) host.replaceChildren()
          chartType.draw(plot, panel, chart, index)
          host.style.minHeight = ''
        } catch (error) {
          showTable(section, error)
        }
      })
    }
  }
  redraw(run)
  redraws.set(section, redraw)
  new ResizeObserver(() => {
    if (!isPrinting) redraw(later)
  }).observe(host)
}

/**
 * Panels that wait to be drawn. Each is a task of its own, so that a slow device can react in between.
 *
 * @type {(() => void)[]}
 */
const waiting = []

/** @param {() => void} task */
function later(task) {
  waiting.push(task)
  if (waiting.length === 1) setTimeout(drawNext)
}

function drawNext() {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setTimeout(drawNext)
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
  const link = section.querySelector('a[data-table]')
  if (link instanceof HTMLAnchorElement) void openTable(link)
}

function enableTables() {
  for (const link of document.querySelectorAll('a[data-table]')) {
    link.setAttribute('role', 'button')
    link.setAttribute('aria-expanded', 'false')
  }
  document.addEventListener('click', onTableClick)
}

/** @param {MouseEvent} event */
function onTableClick(event) {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  const target = event.target instanceof Element ? event.target : null
  const turn = target?.closest('.chart-table .pager a')
  if (turn instanceof HTMLAnchorElement) {
    event.preventDefault()
    void turnPage(turn)
    return
  }
  const link = target?.closest('a[data-table]')
  if (!(link instanceof HTMLAnchorElement)) return
  event.preventDefault()
  const table = link.closest('.chart-table')?.querySelector('[data-chart-table]')
  if (table instanceof HTMLElement) {
    table.hidden = !table.hidden
    link.setAttribute('aria-expanded', String(!table.hidden))
  } else void openTable(link)
}

/**
 * Loads the table of a chart from its own page, which the link leads to.
 *
 * @param {HTMLAnchorElement} link
 */
async function openTable(link) {
  // A second click, while the rows are on their way, adds no second table.
  if (link.getAttribute('aria-busy') === 'true') return
  link.setAttribute('aria-busy', 'true')
  const rows = await readTable(link.href)
  const place = document.createElement('div')
  place.setAttribute('data-chart-table', '')
  place.append(...rows)
  link.closest('.chart-table')?.append(place)
  link.setAttribute('aria-expanded', 'true')
  link.removeAttribute('aria-busy')
}

/**
 * Shows another page of a table where the table is.
 *
 * @param {HTMLAnchorElement} link
 */
async function turnPage(link) {
  const place = link.closest('[data-chart-table]')
  const rows = await readTable(link.href)
  if (rows.length === 0) return
  place?.replaceChildren(...rows)
  const next = place?.querySelector(`.pager a[rel="${link.rel}"]`) ?? place?.querySelector('.pager a')
  if (next instanceof HTMLElement) next.focus({ preventScroll: true })
  place?.scrollIntoView({ block: 'nearest' })
}

/**
 * The table of a chart, from its own page. If it cannot be read, that page is opened, which says what is wrong.
 *
 * @param {string} address
 */
async function readTable(address) {
  try {
    const response = await fetch(address, { headers: { Accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    const table = page.querySelector('[data-chart-table]')
    if (table !== null) return [...table.childNodes]
  } catch {
    // There is no connection; the browser says so when the page is opened.
  }
  location.assign(address)
  return []
}

/** @type {Promise<Plot> | undefined} */
let loading

/** @type {Plot | undefined} */
let loaded

/** @type {WeakSet<Element>} */
const drawn = new WeakSet()

/** @type {Map<Element, (run: (task: () => void) => void) => void>} */
const redraws = new Map()

/** The width of a chart on A4 paper between usual margins, in pixels. */
const PAPER_WIDTH = 684

let isPrinting = false

/** Printing does not wait, so charts are drawn at once; until Plot is loaded, tables are printed in their place. */
function enablePrinting() {
  addEventListener('beforeprint', () => {
    isPrinting = true
    for (const task of waiting) task()
    waiting.length = 0
    for (const chart of mounted.values()) {
      if (loaded !== undefined) drawForPaper(chart, loaded)
      else if (!drawn.has(chart.section)) printTable(chart)
    }
  })
  addEventListener('afterprint', () => {
    isPrinting = false
    for (const redraw of redraws.values()) redraw(later)
  })
}

/**
 * Draws a chart as wide as paper, whatever the width of the window: its letters would be too small or too large on paper otherwise.
 *
 * @param {Mounted} chart
 * @param {Plot} plot
 */
function drawForPaper(chart, plot) {
  const { section, host } = chart
  host.style.width = `${PAPER_WIDTH}px`
  draw(chart, plot, task => task())
  redraws.get(section)?.(task => task())
  host.style.width = ''
}

/** Loads Plot once. */
function loadPlot() {
  loading ??= import('./plot.js').then(plot => (loaded = plot))
  return loading
}
