import type { OwnerAccess } from '../../../accounts/access.ts'
import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { html, type Html, nothing } from '../../html.ts'
import { HIDDEN } from '../../text/hidden-time.ts'
import { label } from '../../text/labels.ts'
import { personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  card,
  jsonFile,
  mainStat,
  noRecords,
  recordTabs,
  stats,
  table,
  type TableColumn,
} from '../../layout/components.ts'
import { paged, paginate, rowsOfPage, tableFoot } from '../../paging.ts'
import { countText, dateText, durationText, numberText } from '../../text/text.ts'
import { knownEnd } from './states.ts'
import { lockColumns, lockRow } from './list.ts'
import { breakRules } from './time.ts'

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
  const templates = await withUses(store, page, pageAccess.ofAll('lock_session'))
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
              ${table('Lock templates', lockTemplateColumns(viewer), templates)}
              ${templates.length === total ? nothing : tableFoot(path, query, paged(templates, total, rows))}
            </section>
          `,
  })
}

export function lockTemplateColumns(viewer: Viewer): TableColumn<TemplateUse>[] {
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record }) =>
        html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}`,
    },
    { title: label('duration'), line: 'second', cell: ({ record }) => lengthText(record) },
    { title: label('isBreakEnabled'), line: 'second', cell: ({ record }) => breakText(record) },
    {
      title: 'Sessions',
      numeric: true,
      line: 'second',
      unit: ({ sessions }) => (sessions === 1 ? '\u00a0session' : '\u00a0sessions'),
      cell: ({ sessions }) => numberText(sessions),
    },
    {
      title: 'Last used',
      cell: ({ last }) =>
        last === null
          ? html`<span class="muted">Never</span>`
          : html`<span class="nowrap">${dateText(viewer, last)}</span>`,
    },
  ]
}

async function showTemplate(visit: Visit) {
  const { store, viewer, pageAccess, id, now, path, query } = visit
  const template = await lockTemplates.find(store, pageAccess.ofAll('lock_template'), id)
  if (template === undefined) throw notFound('Lock template')
  const { record, document, owner } = template
  const file = jsonFile(visit, `lock-template-${id}`, document)
  if (file !== undefined) return file
  const access = pageAccess.sessions('lkbx', owner)
  const { entries: all } = await lockHistory(store, access)
  const entries = all.filter(entry => entry.template === id)
  const shown = paginate(entries, query)
  const { asOf } = await readKnownTime(store, viewer.session.accountId, owner, now)
  const until = countedUntil(asOf, now)
  const newest = await someLocks(store, access, idsOf(entries.slice(0, MAX_MEASURED)), until)
  const sessions = await sessionTable(visit, access, await someLocks(store, access, idsOf(shown.rows), until))
  const person = personOf(viewer, owner)
  return view({
    owner,
    asOf,
    title: recordName(viewer, 'lockTemplate', record),
    back: visit.sectionStart,
    lead: html`${countText(entries.length, 'session')} · created ${dateText(viewer, Date.parse(record.createdAt))}${
      owner === viewer.subject.id ? nothing : ` · ${personName(viewer, person)}`
    }`,
    body: recordTabs(visit, {
      owner,
      apiPath: `/api/v1/lkbx/templates/${record.id}`,
      json: document,
      summary: () => html`
        ${lengthStats(newest, entries.length)}
        ${card('Rules', ruleList(viewer, record))}
        ${card('Sessions with this template', html`${sessions}${shown.pages === 1 ? nothing : tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

function idsOf(entries: readonly { readonly id: number }[]): number[] {
  return entries.map(({ id }) => id)
}

/** The lengths that the rules produced. */
function lengthStats(newest: readonly LockStats[], all: number): Html {
  const lengths = newest.flatMap(session => {
    const end = knownEnd(session)
    return end === null ? [] : [(end - session.at) / 1000]
  })
  if (lengths.length === 0) return nothing
  const which = newest.length < all ? ` of the newest ${numberText(newest.length)}` : ''
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths)].map(durationText)
  const range = shortest === longest ? longest : `${shortest} to ${longest}`
  return stats(mainStat('Ended after', range, `${countText(lengths.length, 'session')}${which}`))
}

/** More would take long. */
const MAX_MEASURED = 400

/** In discreet mode only the length: the other rules contain words that discreet mode hides. */
export function shownRules({ discreet }: Pick<Viewer, 'discreet'>, record: LockTemplate): string[] {
  return rulesOf(record).slice(0, discreet ? 1 : undefined)
}

function ruleList(viewer: Viewer, record: LockTemplate): Html {
  return html`
    <ul class="rules">${shownRules(viewer, record).map(rule => html`<li>${rule}</li>`)}</ul>
    ${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}
  `
}

/** The rules of a template, the first its length. They state names and values of fields and do not interpret them. */
export function rulesOf(template: LockTemplate): string[] {
  const { breakRegularity, breakMaximum, breakPenalty } = template
  return [
    template.isRandomDuration
      ? `Random length, from ${durationText(template.minDuration ?? 0)} to ${durationText(template.maxDuration ?? 0)}`
      : `Length ${durationText(template.duration)}`,
    template.isBreakEnabled
      ? `Break regularity ${durationText(breakRegularity)} · maximum ${durationText(breakMaximum)} · penalty ${durationText(breakPenalty)}`
      : 'No breaks',
    ...(template.isBreakEnabled && template.breakKeyholderOnly ? ['Only the keyholder can start breaks'] : []),
    // Their units are not known.
    template.isDeepthroatEnabled
      ? `Task credit takes off ${numberText(template.deepthroatTimeReduction)}`
      : 'No task credit',
    template.isShameEnabled ? `Penalty votes add ${numberText(template.shameTimeAdd)}` : 'No penalty votes',
    template.isEmergencyUnlockEnabled ? 'Emergency unlock is possible' : 'No emergency unlock',
    template.isTimeDisplayed ? 'The end is shown' : HIDDEN,
    ...(template.isTestLock ? ['Sessions with this template are not counted'] : []),
  ]
}

async function sessionTable(visit: Visit, access: OwnerAccess, sessions: readonly LockStats[]): Promise<Html> {
  if (sessions.length === 0) return html`<p class="muted">No session has started from this template.</p>`
  const records = await lockRecords(visit.store, access, idsOf(sessions))
  const rows = sessions.map(session => lockRow(session, records.get(session.id)))
  return table('Sessions with this template', lockColumns(visit), rows)
}

function lengthText({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): string {
  return isRandomDuration
    ? `${durationText(minDuration ?? 0)} to ${durationText(maxDuration ?? 0)}`
    : durationText(duration)
}

function breakText(template: LockTemplate): string {
  return template.isBreakEnabled ? breakRules(template) : 'None'
}
