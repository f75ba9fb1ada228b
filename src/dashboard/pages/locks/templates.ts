import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { type Box, boxes, dots, markText, type Range } from '../../charts/plane.ts'
import { DAY_MS, HOUR_MS } from '../../../contract/time.ts'
import { legendOf } from '../../charts/picture.ts'
import { html, type Html, nothing } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  card,
  facts,
  mainStat,
  noRecords,
  recordTabs,
  stat,
  stats,
  table,
  type TableColumn,
  dotted,
} from '../../layout/components.ts'
import { paged, paginate, rowsOfPage, tableFoot } from '../../paging.ts'
import { capital, dateText, durationText, NONE, numberText } from '../../text/text.ts'
import { knownEnd, stateName } from './states.ts'
import { lockRow, lockTable, type LockRow } from './list.ts'
import { spanCell, strip } from '../parts.ts'
import { endingOf } from './endings.ts'

const OF_TEMPLATES = { section: 'lockTemplates', area: 'lkbx' } as const

export const lockTemplatePages: readonly DashboardPage[] = [
  { ...OF_TEMPLATES, path: '/lock-templates', reads: 'list', handler: showTemplates },
  { ...OF_TEMPLATES, path: '/lock-templates/:id', reads: 'record', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { store, viewer, pageAccess, path, query } = visit
  const access = pageAccess.templates('lock_template')
  const total = await lockTemplates.count(store, access)
  const rows = rowsOfPage(total, query)
  const page = await lockTemplates.page(store, access, rows)
  const used = await withUses(store, page, pageAccess.ofAll('lock_session'))
  // Those of several pages are in the order in which they were made.
  const isSorted = used.length === total
  const templates = isSorted ? used.toSorted((a, b) => (b.last ?? 0) - (a.last ?? 0)) : used
  const most = axisOf(Math.max(0, ...templates.flatMap(one => [one.longest ?? 0, plannedOf(one.record)[1]])))
  return view({
    title: 'Lock templates',
    body:
      total === 0
        ? noRecords(
            viewer,
            'No lock templates yet',
            'This page will show the rules that lock sessions start from: how long they last, when breaks are due, and what changes their length.',
          )
        : html`
            <section class="card" id="sessions">
              ${table('Lock templates', lockTemplateColumns(viewer, isSorted, most), templates)}
              ${legendOf([
                ['solid', 'Lasted'],
                ['usual', 'Planned'],
              ])}
              ${tableFoot(path, query, paged(templates, total, rows))}
            </section>
          `,
  })
}

export function lockTemplateColumns(viewer: Viewer, isSorted = false, most = 0): TableColumn<TemplateUse>[] {
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record, isInUse }) =>
        html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${isInUse ? html` <span class="state on">In use</span>` : nothing}${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}`,
    },
    { title: 'Planned', line: 'first', cell: ({ record }) => html`<span class="nowrap">${lengthText(record)}</span>` },
    {
      title: most === 0 ? 'Lasted' : spanCell('Lasted', axisMarks(most)),
      line: 'second',
      cell: use => (most === 0 ? lengthsOf(use) : spanCell(lengthsOf(use), rangeMarks(use, most))),
    },
    {
      title: label('isBreakEnabled'),
      cell: ({ record }) => capital(breakText(record)),
    },
    { title: stateName('completed', viewer), cell: completedText },
    {
      title: isSorted ? html`Last used<span aria-hidden="true"> ↓</span>` : 'Last used',
      sorted: isSorted ? 'descending' : undefined,
      numeric: true,
      cell: ({ last }) => (last === null ? 'never' : dateText(viewer, last)),
    },
  ]
}

/** `8 of 12` that ended */
function completedText({ sessions, completed }: TemplateUse): string {
  return sessions === 0 ? NONE : `${numberText(completed)} of ${numberText(sessions)}`
}

/** `6 d to 9 d` */
function lengthsOf({ shortest, longest }: TemplateUse): string {
  if (shortest === null || longest === null) return NONE
  const [from, to] = [durationText(shortest / 1000), durationText(longest / 1000)]
  return from === to ? from : `${from} to ${to}`
}

/** The shortest and the longest time that a template plans, in milliseconds. */
function plannedOf({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): Range {
  return isRandomDuration ? [(minDuration ?? 0) * 1000, (maxDuration ?? 0) * 1000] : [duration * 1000, duration * 1000]
}

/** Up to where an axis goes that has a length: three equal steps of whole days, or hours. */
function axisOf(length: number): number {
  const unit = length > DAY_MS ? DAY_MS : HOUR_MS
  return Math.ceil(length / unit / 3) * 3 * unit
}

/** `0 3 6 9 d` */
function axisMarks(most: number): Html {
  const [unit, name] = most > DAY_MS ? [DAY_MS, 'd'] : [HOUR_MS, 'h']
  return html`${[0, 1, 2, 3].map(step => markText((step * 100) / 3, 120, `${numberText(Math.round((step * most) / 3 / unit))}${step === 3 ? `\u00a0${name}` : ''}`, ' quiet'))}`
}

/** What is planned, and the lengths of locks in it; nothing that would be a speck. */
function rangeMarks({ record, shortest, longest }: Omit<TemplateUse, 'sessions'>, most: number): Html {
  const box = ([low, high]: Range, least: number, y: Range): Box => {
    const [left, right] = [(low * 100) / most, (high * 100) / most]
    const more = Math.max(0, least - (right - left)) / 2
    return { x: [left - more, Math.min(100, right + more)], y }
  }
  const isShown = (to: number) => to * 40 > most
  const planned = plannedOf(record)
  return html`${isShown(planned[1]) ? boxes('usual', [box(planned, 2, [0, 100])]) : nothing}${
    shortest === null || longest === null || !isShown(longest)
      ? nothing
      : boxes('solid', [box([shortest, longest], 5, [28, 72])])
  }`
}

async function showTemplate(visit: Visit) {
  const { store, viewer, pageAccess, id, now, path, query } = visit
  const template = (await lockTemplates.find(store, pageAccess.ofAll('lock_template'), [id])).get(id)
  if (template === undefined) throw notFound('Lock template')
  const { record, document, owner } = template
  const access = pageAccess.sessions('lkbx', owner)
  const { entries: all } = await lockHistory(store, access)
  const entries = all.filter(entry => entry.template === id)
  const { asOf } = await readKnownTime(store, viewer.session.accountId, owner, now)
  const until = countedUntil(asOf, now)
  const [use] = await withUses(store, [template], pageAccess.ofAll('lock_session'))
  const shown = paginate(entries, query)
  const ids = shown.rows.map(entry => entry.id)
  const records = await lockRecords(store, access, ids)
  const rows = (await someLocks(store, access, ids, until)).map(session => {
    const row = lockRow(session, records.get(session.id))
    return { ...row, ending: row.record && endingOf(session, row.record, record) }
  })
  const person = personOf(viewer, owner)
  return view({
    owner,
    asOf,
    title: recordName(viewer, 'lockTemplate', record),
    back: visit.sectionStart,
    lead: dotted(
      `Created ${dateText(viewer, Date.parse(record.createdAt))}`,
      owner === viewer.subject.id ? nothing : personName(viewer, person),
    ),
    body: recordTabs(visit, {
      owner,
      apiPath: `/api/v1/lkbx/templates/${record.id}`,
      json: document,
      summary: () => html`
        ${use === undefined || use.last === null ? nothing : html`${useStats(viewer, use)}${lengthsCard(use, rows)}`}
        ${card('Rules', html`${facts(shownRules(viewer, record))}${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${lockTable('Locks with this template', visit, rows, { isNamed: false })}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

/** The lengths of the locks that ended, on what is planned. */
function lengthsCard({ record, longest }: TemplateUse, rows: readonly LockRow[]): Html {
  if (longest === null) return nothing
  const planned = plannedOf(record)
  const most = axisOf(Math.max(longest, planned[1]))
  const points = rows.flatMap(row => {
    const end = knownEnd(row)
    return end === null ? [] : [{ at: end - row.at, value: 50 }]
  })
  const marks = html`${boxes('usual', [{ x: [(planned[0] * 100) / most, Math.max((planned[1] * 100) / most, (planned[0] * 100) / most + 0.5)], y: [0, 100] }])}${dots('filled', { x: length => (length * 100) / most, y: value => value }, points)}`
  return card(
    'How long they lasted',
    html`
      <figure class="lengths">${strip(marks, 40)}${strip(axisMarks(most), 16)}</figure>
      ${legendOf([
        ['filled', 'A lock'],
        ['usual', 'Planned'],
      ])}
    `,
  )
}

function useStats(viewer: Viewer, use: TemplateUse): Html {
  return stats(
    mainStat('Lasted', lengthsOf(use), `planned: ${lengthText(use.record)}`),
    stat(stateName('completed', viewer), completedText(use)),
    stat('Last used', dateText(viewer, use.last ?? 0)),
  )
}

type Rule = readonly [name: string, value: string]

/** In discreet mode only the length: the other rules contain words that discreet mode hides. */
export function shownRules({ discreet }: Pick<Viewer, 'discreet'>, record: LockTemplate): Rule[] {
  return rulesOf(record).slice(0, discreet ? 1 : undefined)
}

/** The rules of a template that apply, the first its length. They state values of fields and do not interpret them. */
export function rulesOf(template: LockTemplate): Rule[] {
  const { breakPenalty } = template
  const rules: (Rule | false)[] = [
    ['Length', `${lengthText(template)}${template.isRandomDuration ? ', at random' : ''}`],
    ['Breaks', breakText(template)],
    template.isBreakEnabled && breakPenalty > 0 && ['Longer breaks', `add ${durationText(breakPenalty)}`],
    template.isBreakEnabled && template.breakKeyholderOnly && ['Breaks are started', 'only by the keyholder'],
    // Their units are not known.
    template.isDeepthroatEnabled && ['Task credit', `takes off ${numberText(template.deepthroatTimeReduction)}`],
    template.isShameEnabled && ['Penalty votes', `add ${numberText(template.shameTimeAdd)}`],
    template.isEmergencyUnlockEnabled && ['Emergency unlock', 'possible'],
    ['Remaining time', template.isTimeDisplayed ? 'shown' : 'hidden'],
    template.isTestLock && ['Figures', 'not counted'],
  ]
  return rules.filter(rule => rule !== false)
}

function lengthText({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): string {
  return isRandomDuration
    ? `${durationText(minDuration ?? 0)} to ${durationText(maxDuration ?? 0)}`
    : durationText(duration)
}

function breakText({ isBreakEnabled, breakRegularity, breakMaximum }: LockTemplate): string {
  return isBreakEnabled ? `up to ${durationText(breakMaximum)} every ${durationText(breakRegularity)}` : 'none'
}
