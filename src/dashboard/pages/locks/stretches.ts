import type { LockTemplate } from '../../../contract/lock-templates.ts'
import type { LockDetails } from '../../../stats/lock-queries.ts'
import type { LockInterval } from '../../../stats/intervals.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { card, table, type TableColumn } from '../../layout/components.ts'
import type { Visit } from '../../page.ts'
import { paginate, RECORD_ROWS, recordTableFoot } from '../../paging.ts'
import { durationText, minutesText, stretchText } from '../../text/text.ts'
import { intervalName, lockText, stateName } from './states.ts'
import { overMaximum } from './time.ts'

/** A time under lock, and what came after it, up to the next one. The first may have no time under lock. */
interface Stretch {
  readonly locked: LockInterval | undefined
  readonly after: readonly LockInterval[]
  readonly start: number
  readonly end: number
}

/** The id of the table, to which the timeline leads. */
export const STRETCHES = 'stretches'

/** What happened to a lock, a row for each time under lock. `placeOf` says where in the timeline a time is. */
export function stretchCard(
  { viewer, path, query }: Visit,
  session: LockDetails,
  template: LockTemplate | undefined,
  placeOf: (start: number, end: number) => Html,
): Html {
  const all = stretchesOf(session)
  if (all.length === 0) return nothing
  const paged = paginate(all, query, RECORD_ROWS)
  const columns: TableColumn<Stretch>[] = [
    {
      title: 'When',
      line: 'first',
      cell: ({ locked, start, end }) => stretchText(viewer, start, locked?.end ?? end),
    },
    {
      title: stateName('locked', viewer),
      numeric: true,
      line: 'second',
      unit: `\u00a0${stateName('locked', viewer).toLowerCase()}`,
      cell: ({ locked }) => (locked === undefined ? '' : minutesText(locked.end - locked.start)),
    },
    {
      title: 'Then',
      numeric: true,
      line: 'second',
      cell: ({ after }) =>
        after.map((interval, index) => html`${index === 0 ? nothing : ', '}${openText(interval, template)}`),
    },
  ]
  const rows = table(lockText('Locked stretches', viewer), columns, paged.rows, {
    id: 'stretch-table',
    attributes: ({ start, end }) => placeOf(start, end),
  })
  return card('Stretches', html`${rows}${recordTableFoot(path, query, paged, STRETCHES)}`, { id: STRETCHES })
}

/** `Break 1 h 12 min`, and how much that is over the maximum of the template. */
function openText(interval: LockInterval, template: LockTemplate | undefined): Part {
  const over = overMaximum(interval, template)
  const text = `${intervalName(interval)}\u00a0${minutesText(interval.end - interval.start)}`
  return html`${text}${over === 0 ? nothing : html` <span class="state warn">${durationText(over / 1000)} over</span>`}`
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
