import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { type Box, boxes, type Range } from '../../charts/plane.ts'
import { legendOf } from '../../charts/picture.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  card,
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
import { capital, countText, dateText, durationText, NONE, numberText } from '../../text/text.ts'
import { stateName } from './states.ts'
import { lockColumns, lockRow } from './list.ts'
import { strip } from '../parts.ts'
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
  const longest = Math.max(0, ...templates.map(({ longest }) => longest ?? 0))
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
              ${table('Lock templates', lockTemplateColumns(viewer, isSorted, longest), templates)}
              ${
                longest === 0
                  ? nothing
                  : legendOf([
                      ['solid', 'Lasted'],
                      ['usual', 'Planned'],
                    ])
              }
              ${tableFoot(path, query, paged(templates, total, rows))}
            </section>
          `,
  })
}

export function lockTemplateColumns(viewer: Viewer, isSorted = false, longest?: number): TableColumn<TemplateUse>[] {
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record, isInUse }) =>
        html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${isInUse ? html` <span class="state on">In use</span>` : nothing}${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}`,
    },
    { title: 'Planned', line: 'first', cell: ({ record }) => html`<span class="nowrap">${lengthText(record)}</span>` },
    { title: 'Lasted', line: 'second', before: 'lasted: ', cell: use => lengthsOf(use, longest) },
    {
      title: label('isBreakEnabled'),
      line: 'second',
      before: 'breaks: ',
      cell: ({ record }) => capital(breakText(record)),
    },
    { title: 'Ended', line: 'second', before: 'ended: ', cell: usesText },
    {
      title: isSorted ? html`Last used<span aria-hidden="true"> ↓</span>` : 'Last used',
      sorted: isSorted ? 'descending' : undefined,
      numeric: true,
      line: 'second',
      before: 'last used: ',
      cell: ({ last }) => (last === null ? 'never' : dateText(viewer, last)),
    },
  ]
}

/** `12 times, 8 completed` */
function usesText({ sessions, completed }: TemplateUse): string {
  if (sessions === 0) return NONE
  return `${countText(sessions, 'time')}, ${completed === sessions ? 'all' : numberText(completed)} completed`
}

/** `6 d to 9 d`, and where that is among the lengths of all templates, beside what is planned. */
function lengthsOf({ record, shortest, longest }: TemplateUse, most = 0): Part {
  if (shortest === null || longest === null) return NONE
  const [from, to] = [durationText(shortest / 1000), durationText(longest / 1000)]
  const text = html`<span class="nowrap">${from === to ? from : `${from} to ${to}`}</span>`
  if (most <= 0) return text
  const { isRandomDuration, minDuration, maxDuration, duration } = record
  const [least, greatest] = isRandomDuration ? [minDuration ?? 0, maxDuration ?? 0] : [duration, duration]
  const box = (low: number, high: number, y: Range): Box => {
    const [left, right] = [low, high].map(length => Math.min(100, (length * 100) / most)) as [number, number]
    return { x: [Math.min(left, 98), Math.max(right, Math.min(left, 98) + 2)], y }
  }
  return html`${text}${strip(html`${boxes('usual', [box(least * 1000, greatest * 1000, [0, 100])])}${boxes('solid', [box(shortest, longest, [30, 70])])}`, 16)}`
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
        ${use === undefined || use.last === null ? nothing : useStats(viewer, use)}
        ${card('Rules', html`<ul class="segments">${shownRules(viewer, record).map(rule => html`<li>${rule}</li>`)}</ul>${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${table('Locks with this template', lockColumns(visit, { isNamed: false }), rows)}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

function useStats(viewer: Viewer, use: TemplateUse): Html {
  return stats(
    mainStat('Lasted', lengthsOf(use), `planned: ${lengthText(use.record)}`),
    stat('Ended', use.sessions === 0 ? NONE : countText(use.sessions, 'time')),
    stat(
      stateName('completed', viewer),
      use.sessions === 0 ? NONE : `${numberText(use.completed)} of ${numberText(use.sessions)}`,
    ),
    stat('Last used', dateText(viewer, use.last ?? 0)),
  )
}

/** In discreet mode only the length: the other rules contain words that discreet mode hides. */
export function shownRules({ discreet }: Pick<Viewer, 'discreet'>, record: LockTemplate): string[] {
  return rulesOf(record).slice(0, discreet ? 1 : undefined)
}

/** The rules of a template that apply, the first its length. They state values of fields and do not interpret them. */
export function rulesOf(template: LockTemplate): string[] {
  const { breakPenalty } = template
  const rules = [
    `Lasts ${lengthText(template)}${template.isRandomDuration ? ', at random' : ''}`,
    template.isBreakEnabled ? `Breaks of ${breakText(template)}` : 'No breaks',
    template.isBreakEnabled && breakPenalty > 0 && `Longer breaks add ${durationText(breakPenalty)}`,
    template.isBreakEnabled && template.breakKeyholderOnly && 'Only the keyholder starts breaks',
    // Their units are not known.
    template.isDeepthroatEnabled && `Task credit takes off ${numberText(template.deepthroatTimeReduction)}`,
    template.isShameEnabled && `Penalty votes add ${numberText(template.shameTimeAdd)}`,
    template.isEmergencyUnlockEnabled && 'Emergency unlock is possible',
    `The remaining time is ${template.isTimeDisplayed ? 'shown' : 'hidden'}`,
    template.isTestLock && 'Not counted in figures',
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
