import type { LockTemplate } from '../../../contract/lock-templates.ts'
import type { LockDetails } from '../../../stats/lock-queries.ts'
import type { LockInterval } from '../../../stats/intervals.ts'
import { figuresTable } from '../../charts/picture.ts'
import type { Range } from '../../charts/plane.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { durationText, minutesText, stretchText } from '../../text/text.ts'
import { intervalName, stateName } from './states.ts'
import { overMaximum } from './time.ts'

/** A time under lock, and what came after it, up to the next one. The first may have no time under lock. */
interface Stretch {
  readonly locked: LockInterval | undefined
  readonly after: readonly LockInterval[]
  readonly start: number
  readonly end: number
}

/**
 * What happened to a lock, a row for each time under lock; of a running one the newest first. `placeOf` says where in the timeline a
 * time is.
 */
export function stretchFigures(
  viewer: Viewer,
  session: LockDetails,
  template: LockTemplate | undefined,
  placeOf: (start: number, end: number) => Range,
): Html {
  const all = stretchesOf(session)
  return figuresTable<Stretch>({
    id: 'stretches',
    title: 'Figures by stretch',
    columns: [
      { title: 'When', cell: ({ locked, start, end }) => stretchText(viewer, start, locked?.end ?? end) },
      {
        title: stateName('locked', viewer),
        cell: ({ locked }) => (locked === undefined ? '' : minutesText(locked.end - locked.start)),
      },
      {
        title: 'Break after',
        cell: ({ after }) =>
          after.map((interval, index) => html`${index === 0 ? nothing : ', '}${openText(interval, template)}`),
      },
    ],
    rows: session.isActive ? all.toReversed() : all,
    placeOf: ({ start, end }) => placeOf(start, end),
  })
}

/** `1 h 12 min`, and how much that is over the maximum of the template; with a name if it is no break. */
function openText(interval: LockInterval, template: LockTemplate | undefined): Part {
  const over = overMaximum(interval, template)
  const name = interval.type === 'break' ? '' : `${intervalName(interval)}\u00a0`
  return html`${name}${minutesText(interval.end - interval.start)}${over === 0 ? nothing : html` <span class="state warn">${durationText(over / 1000)} over</span>`}`
}

function stretchesOf({ intervals }: LockDetails): Stretch[] {
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
