/**
 * Pictures that the server has drawn: a row of the table of a picture is shown where somebody points at its mark, and its link is opened.
 * A picture is one tab stop with arrow keys inside; a drag, or Shift and arrow keys, selects days.
 */

import { make, to } from './page.js'

const SVG = 'http://www.w3.org/2000/svg'
/** Less is no drag, in pixels. */
const MIN_DRAG = 8

/** One for all pictures. */
const tip = make('p', { className: 'tip', ariaHidden: 'true' })
const pointed = document.createElementNS(SVG, 'rect')
pointed.setAttribute('class', 'pointed')

export function enablePictures() {
  for (const plot of document.querySelectorAll('.plot[data-name]')) {
    if (!(plot instanceof HTMLElement)) continue
    const picture = new Picture(plot)
    if (picture.rows.length > 0) picture.enable()
  }
}

class Picture {
  current = 0
  /** Where a selection began; the current row if there is none. */
  anchor = 0
  shownByTouch = -1
  /** @type {{ x: number, row: number } | undefined} */
  drag

  /** @param {HTMLElement} plot */
  constructor(plot) {
    const figures = plot.closest('.chart')?.querySelector('.figures')
    this.plot = plot
    this.rows = [...(figures?.querySelectorAll('tr[data-x]') ?? [])].map(readRow).toSorted((a, b) => a.start - b.start)
    this.heads = [...(figures?.querySelectorAll('th') ?? [])].map(head => head.textContent.trim())
    this.select = figures?.getAttribute('data-select') ?? undefined
    this.lines = Number(plot.dataset.lines ?? 1)
  }

  enable() {
    const { plot, rows } = this
    this.current = this.anchor = rows.length - 1
    plot.tabIndex = 0
    plot.role = 'slider'
    plot.ariaLabel = plot.dataset.name ?? ''
    plot.ariaValueMin = '1'
    plot.ariaValueMax = String(rows.length)
    this.tell()
    plot.addEventListener('pointermove', event => this.move(event))
    plot.addEventListener('pointerleave', event => {
      if (event.pointerType !== 'touch') this.hide()
    })
    plot.addEventListener('pointerdown', event => {
      if (event.pointerType === 'touch' || event.button !== 0) return
      this.drag = { x: event.clientX, row: this.rowAt(event) }
      plot.setPointerCapture(event.pointerId)
    })
    plot.addEventListener('click', event => this.click(event))
    plot.addEventListener('focus', () => {
      if (plot.matches(':focus-visible')) this.show()
    })
    plot.addEventListener('blur', () => this.hide())
    plot.addEventListener('keydown', event => this.press(event))
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { drag } = this
    if (drag === undefined && event.pointerType === 'touch') return
    this.current = this.rowAt(event)
    this.anchor = drag !== undefined && isDrag(drag, event) ? drag.row : this.current
    this.show()
  }

  /** @param {MouseEvent} event */
  click(event) {
    const { drag } = this
    this.drag = undefined
    if (drag !== undefined && isDrag(drag, event)) {
      this.open(true)
      return
    }
    this.current = this.anchor = this.rowAt(event)
    // The first tap shows the text, the second one opens.
    const isTouch = event instanceof PointerEvent && event.pointerType === 'touch'
    if (!isTouch || this.shownByTouch === this.current) this.open(false)
    this.shownByTouch = this.current
    this.show()
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity }
    const [, step] = Object.entries(steps).find(([key]) => key === event.key) ?? []
    if (event.key === 'Enter') this.open(this.anchor !== this.current)
    else if (event.key === 'Escape') this.hide()
    else if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    else {
      this.current = Math.min(this.rows.length - 1, Math.max(0, this.current + step))
      if (!event.shiftKey) this.anchor = this.current
      this.show()
    }
    event.preventDefault()
  }

  /**
   * The row whose mark is nearest, over the whole height of its line.
   *
   * @param {MouseEvent} event
   */
  rowAt({ clientX, clientY }) {
    const { plot, lines, rows } = this
    const box = (plot.firstElementChild ?? plot).getBoundingClientRect()
    const line = Math.min(lines - 1, Math.max(0, Math.floor(((clientY - box.top) * lines) / box.height)))
    const x = Math.min(100, Math.max(0, ((clientX - box.left) * 100) / box.width)) + line * 100
    const distances = rows.map(({ start, end }) => Math.max(start - x, x - end, 0))
    return distances.indexOf(Math.min(...distances))
  }

  /** Tells screen readers of the current mark. */
  tell() {
    this.plot.ariaValueNow = String(this.current + 1)
    this.plot.ariaValueText = this.tooltipText(this.current).join(', ')
  }

  show() {
    const { plot, rows, lines, current, anchor } = this
    this.tell()
    const [first, last] = [Math.min(anchor, current), Math.max(anchor, current)]
    const texts =
      first === last
        ? this.tooltipText(current)
        : [`${this.tooltipText(first)[0] ?? ''} to ${this.tooltipText(last)[0] ?? ''}`, 'Show these days']
    const [start, end] = [rows[first]?.start ?? 0, rows[last]?.end ?? 0]
    const line = Math.min(lines - 1, Math.floor(start / 100))
    const x = start - line * 100
    const width = Math.max(0, Math.min(100 - x, end - start))
    const middle = x + width / 2
    tip.replaceChildren(...texts.map(text => make('span', { textContent: text })))
    tip.style.left = `${middle}%`
    tip.style.transform = `translateX(-${middle}%)`
    tip.style.bottom = `calc(${((lines - line) * 100) / lines}% + 4px)`
    for (const [name, value] of Object.entries({ x, width, y: (line * 100) / lines, height: 100 / lines })) {
      pointed.setAttribute(name, `${value}%`)
    }
    const place = plot.querySelector('.over') ?? plot.appendChild(make('div', { className: 'over' }))
    place.append(tip)
    plot.querySelector('svg')?.append(pointed)
    plot.classList.toggle('linked', this.linkOf(current) !== undefined)
  }

  /** @param {number} index */
  tooltipText(index) {
    return [...(this.rows[index]?.row.cells ?? [])].flatMap(({ textContent }, place) => {
      const text = textContent.trim()
      if (text === '' || text === '–') return []
      return [place === 0 ? text : `${this.heads[place]}: ${text}`]
    })
  }

  /** @param {number} index */
  linkOf(index) {
    return this.rows[index]?.row.querySelector('a')?.getAttribute('href') ?? undefined
  }

  /** @param {boolean} isSelection */
  open(isSelection) {
    const { rows, anchor, current, select } = this
    const [first, last] = [rows[Math.min(anchor, current)], rows[Math.max(anchor, current)]]
    const days = select?.replace('{from}', first?.days[0] ?? '').replace('{to}', last?.days[1] ?? '')
    const address = isSelection ? days && to(days) : this.linkOf(current)
    if (address !== undefined) location.assign(address)
  }

  hide() {
    if (this.drag !== undefined) return
    this.anchor = this.current
    tip.remove()
    pointed.remove()
  }
}

/**
 * @param {{ x: number }} from
 * @param {MouseEvent} event
 */
function isDrag({ x }, { clientX }) {
  return Math.abs(clientX - x) > MIN_DRAG
}

/**
 * A row, from where to where its mark is, in per cent of a line from the left of the picture, and its first and its last day.
 *
 * @param {Element} element
 */
function readRow(element) {
  const row = /** @type {HTMLTableRowElement} The selector finds only rows. */ (element)
  const [start = 0, end = start] = (row.dataset.x ?? '').split(' ').map(Number)
  // The link of a week says its days.
  const query = new URLSearchParams(row.querySelector('a')?.search)
  const days = [query.get('from'), query.get('to')].map(day => day ?? row.dataset.day ?? '')
  return { row, start, end, days }
}
