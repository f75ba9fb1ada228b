import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { DAY_MS, MINUTE_MS } from '../../../contract/time.ts'
import type { LockDetails } from '../../../stats/lock-queries.ts'
import { wallClock } from '../../../stats/periods.ts'
import { percent, type Range, stretched, textureOf } from '../../charts/plane.ts'
import { figuresTable, lineHeight, MAX_ROWS, picture } from '../../charts/picture.ts'
import type { LockInterval } from '../../../stats/intervals.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { intervalName, stateName } from './states.ts'
import { type Clock, overMaximum } from './time.ts'
import { dateFormat, dayRange, durationText, minutesText, stretchText, timeOfDay } from '../../text/text.ts'

/** When a lock was locked and open: on one line, or on a line for each day or for each few weeks. */

export function timeline(
  viewer: Viewer,
  session: LockDetails,
  template: LockTemplate | undefined,
  plannedEnd: number | undefined,
  clock: Clock,
): Html {
  const intervals = session.intervals.slice(0, MAX_ROWS)
  const [first, last] = [intervals[0], intervals.at(-1)]
  const empty = 'No events, so the times of this lock are not known.'
  const card = { id: 'timeline', title: 'By day', empty }
  if (first === undefined || last === undefined) return picture({ ...card, drawing: undefined })
  const clockOf = (at: number) => Date.parse(`${wallClock(at, viewer.timeZone)}Z`)
  const end = plannedEnd ?? last.end
  const lines = linesOf(clockOf(first.start), clockOf(end))
  const positionOf = (at: number) => (clockOf(at) - lines.origin) / lines.length
  const blocksOf = (look: string, start: number, end: number) =>
    blocks(look, [positionOf(start), positionOf(end)], lineHeight(lines.count))
  const marks = intervals.map(({ start, end, locked }) => blocksOf(locked ? 'solid' : 'break', start, end))
  const late = intervals.filter(interval => overMaximum(interval, template) > 0)
  const over = late.map(one => blocksOf('late', one.end - overMaximum(one, template), one.end))
  const open = [...new Set(intervals.filter(({ locked }) => !locked).map(intervalName))]
  return picture({
    ...card,
    drawing: html`${axisOf(lines, clockOf(end))}${marks}${over}${plannedEnd === undefined ? nothing : blocksOf('ahead', last.end, plannedEnd)}`,
    lines: lines.count,
    legend: [
      ['solid', stateName('locked', viewer)],
      ...(open.length > 0 ? ([['break', open.join(', ')]] as const) : []),
      ...(plannedEnd === undefined ? [] : ([['ahead', 'Up to the planned end']] as const)),
      ...(late.length > 0 ? ([['late', 'Over the maximum of a break']] as const) : []),
    ],
    figures: stretchFigures(viewer, session, template, at => positionOf(at) * 100, clock),
  })
}

/** More would be too many for a page. */
const MAX_LINES = 60

/** The lines of a timeline. Instants are on the clock of the account, as if that were UTC, so that each day has 24 hours. */
function linesOf(start: number, end: number) {
  if (end - start <= DAY_MS) return { origin: start, length: Math.max(end - start, 1), count: 1 }
  const days = (end - start) / DAY_MS
  const lineDays = days < MAX_LINES ? 1 : Math.ceil(days / (MAX_LINES - 1) / 7) * 7
  // 1970-01-05 was a Monday.
  const step = lineDays === 1 ? DAY_MS : 7 * DAY_MS
  const origin = Math.floor((start - 4 * DAY_MS) / step) * step + 4 * DAY_MS
  const length = lineDays * DAY_MS
  return { origin, length, count: Math.max(1, Math.ceil((end - origin) / length)) }
}

/** A block for each line that a time touches; the whole part of a position is its line. */
function blocks(look: string, [start, end]: Range, height: number): Html[] {
  const found: Html[] = []
  for (let from = start; from < end;) {
    const line = Math.floor(from)
    const to = Math.min(end, line + 1)
    found.push(
      html`<rect class="${look}"${textureOf(look)} x="${percent((from - line) * 100)}" width="${percent((to - from) * 100)}" y="${line * height}em" height="${height - GAP}em"/>`,
    )
    from = to
  }
  return found
}

const GAP = 0.5

/** Hours of a day, or days of weeks, and the name of each line. */
function axisOf({ origin, length, count }: ReturnType<typeof linesOf>, last: number): Html {
  const [days, height] = [length / DAY_MS, lineHeight(count)]
  const step = days > 1 ? length / 7 : (STEPS.find(minutes => length / (minutes * MINUTE_MS) <= 5) ?? 360) * MINUTE_MS
  const first = days > 1 ? origin : Math.ceil(origin / step) * step
  const steps = Array.from(
    { length: Math.floor((origin + length - first) / step) + 1 },
    (_, part) => first + part * step,
  )
  // A line that is no day has its start and its end, and between them what does not run into their names.
  const isPart = days <= 1 && count === 1
  const isClear = (time: number) => Math.min(time - origin, last - time) * 8 > length
  const at = isPart ? [origin, ...steps.filter(isClear), last] : steps
  const name = (time: number) =>
    days <= 1
      ? timeOfDay({ timeZone: 'UTC' }, time).replace(/:00(?=\s)/, '')
      : `${Math.round((time - origin) / DAY_MS)}\u00a0d`
  const ticks = at.map((time, index) => {
    const x = (time - origin) / length
    return html`<text class="${(index * 2) % (at.length - 1 || 1) === 0 ? 'main' : ''}${x === 0 ? ' begin' : x === 1 ? ' end' : ''}" x="${percent(x * 100)}">${name(time)}</text>`
  })
  const names = Array.from({ length: count }, (_, line) => {
    const at = origin + line * length
    const name = isPart ? dayRange(at, last) : (days > 1 ? DATE : DAY).format(at)
    return html`<text y="${line * height + (height - GAP) / 2}em">${name}</text>`
  })
  const grid = at.map(time => `M${Math.round(((time - origin) * 1000) / length)} 0V1000`).join('')
  return html`${stretched(html`<path class="grid" d="${grid}"/>`)}<svg class="values" x="-0.6em">${names}</svg><svg class="times" y="100%">${ticks}</svg>`
}

/** Of an axis of hours, in minutes. */
const STEPS = [5, 10, 15, 30, 60, 120, 180, 360]

/** The dates are those of the table below. */
const DAY = dateFormat({ weekday: 'short', day: 'numeric', timeZone: 'UTC' })
const DATE = dateFormat({ day: 'numeric', month: 'short', year: '2-digit', timeZone: 'UTC' })

/** What happened to a lock, a row for each time under lock. `x` says where an instant is. */
function stretchFigures(
  viewer: Viewer,
  session: LockDetails,
  template: LockTemplate | undefined,
  x: (at: number) => number,
  { until, now }: Clock,
): Html {
  const all = stretchesOf(session)
  const offsetOf = (at: number) => Math.round((Date.parse(`${wallClock(at, viewer.timeZone)}Z`) - at) / MINUTE_MS)
  const isChanged = (start: number, end: number) => offsetOf(start) !== offsetOf(end)
  return figuresTable({
    title: 'Figures by stretch',
    columns: [
      {
        title: 'When',
        line: 'first',
        cell: ({ locked, start, end }) => {
          const isNow = session.endAt === null && until === now && locked?.end === all.at(-1)?.end
          return html`${stretchText(viewer, start, locked?.end ?? end, isNow)}${isChanged(start, locked?.end ?? end) && html` <span class="muted">clocks changed</span>`}`
        },
      },
      {
        title: stateName('locked', viewer),
        line: 'first',
        cell: ({ locked }) => (locked === undefined ? '' : minutesText(locked.end - locked.start, true)),
      },
      {
        title: 'Break after',
        line: 'second',
        before: 'then a break of ',
        cell: ({ after }) =>
          after.map((interval, index) => html`${index === 0 ? nothing : ', '}${openText(interval, template)}`),
      },
    ],
    rows: all,
    placeOf: ({ start, end }) => [x(start), x(end)],
    isOpen: all.length <= MAX_LINES,
  })
}

/** `1 h 12 min`, and how much that is over the maximum of the template; with a name if it is no break. */
function openText(interval: LockInterval, template: LockTemplate | undefined): Part {
  const over = overMaximum(interval, template)
  const name = interval.type === 'break' ? '' : `${intervalName(interval)}\u00a0`
  return html`${name}${minutesText(interval.end - interval.start)}${over === 0 ? nothing : html` <span class="state warn">${durationText(over / 1000)} over</span>`}`
}

/** Each time under lock, and what came after it, up to the next one. The first may have no time under lock. */
function stretchesOf({ intervals }: LockDetails) {
  const found: { locked: LockInterval | undefined; after: LockInterval[] }[] = []
  for (const interval of intervals) {
    const last = found.at(-1)
    if (interval.locked) found.push({ locked: interval, after: [] })
    else if (last === undefined) found.push({ locked: undefined, after: [interval] })
    else last.after.push(interval)
  }
  return found.map(({ locked, after }) => {
    const [first, last] = [locked ?? after[0], after.at(-1) ?? locked]
    return { locked, after, start: first?.start ?? 0, end: last?.end ?? 0 }
  })
}
