import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { csvFile, ndjsonFile } from '../../files.ts'
import { readKnownTime } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { type LockEntry, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import {
  countLockTemplates,
  lockTemplate,
  lockTemplates,
  type TemplateUse,
} from '../../../stats/lock-template-queries.ts'
import { totalsOf } from '../../../stats/intervals.ts'
import { countedUntil } from '../../../stats/status.ts'
import { html, type Html, nothing } from '../../html.ts'
import { HIDDEN } from '../../text/hidden-time.ts'
import { label } from '../../text/labels.ts'
import { personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  card,
  jsonFile,
  recordLink,
  downloadLinks,
  noRecords,
  recordTabs,
  table,
  type TableColumn,
} from '../../layout/components.ts'
import { paged, paginate, rowsOfPage, tableFoot } from '../../paging.ts'
import { countText, dateText, dateTimeText, durationText, NONE, numberText } from '../../text/text.ts'
import { knownEnd, stateMark, stateName } from './states.ts'
import { knownLength } from './table.ts'
import { breakRules } from './time.ts'

const OF_TEMPLATES = { section: 'lockTemplates', area: 'lkbx' } as const

export const lockTemplatePages: readonly DashboardPage[] = [
  { ...OF_TEMPLATES, path: '/lock-templates', reads: 'list', handler: showTemplates },
  { ...OF_TEMPLATES, path: '/lock-templates.csv', reads: 'export', isDownload: true, handler: downloadCsv },
  { ...OF_TEMPLATES, path: '/lock-templates.ndjson', reads: 'export', isDownload: true, handler: downloadRecords },
  { ...OF_TEMPLATES, path: '/lock-templates/:id', reads: 'record', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { store, viewer, pageAccess, path, query } = visit
  const total = await countLockTemplates(store, pageAccess.templates('lock_template'))
  const rows = rowsOfPage(total, query)
  const templates = await templatesOfSubject(visit, rows)
  return view({
    title: 'Lock templates',
    lead: total === 0 ? undefined : 'The rules that lock sessions start from.',
    body:
      total === 0
        ? noRecords(
            viewer,
            'No lock templates yet',
            'This page will show the rules that lock sessions start from: how long they last, when breaks are due, and what changes their length.',
          )
        : html`
            <section class="card" id="sessions">
              <div class="card-head">
                <h2>${countText(total, 'template')}</h2>
                ${downloadLinks(viewer, '/lock-templates.csv', '/lock-templates.ndjson')}
              </div>
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
    { title: label('isBreakEnabled'), cell: ({ record }) => breakText(record) },
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
    {
      title: label('createdAt'),
      cell: ({ record }) => html`<span class="nowrap">${dateText(viewer, Date.parse(record.createdAt))}</span>`,
    },
  ]
}

function templatesOfSubject({ store, pageAccess }: Visit, rows?: { readonly limit: number; readonly offset: number }) {
  return lockTemplates(store, pageAccess.templates('lock_template'), pageAccess.ofAll('lock_session'), rows)
}

async function showTemplate(visit: Visit) {
  const { store, viewer, pageAccess, id, now, path, query } = visit
  const template = await lockTemplate(store, pageAccess.ofAll('lock_template'), id)
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
  const sessions = await someLocks(store, access, idsOf(shown.rows), until)
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
        ${card('Rules', ruleList(viewer, record))}
        ${card('Sessions with this template', html`${lengthsText(newest, entries.length)}${sessionTable(visit, sessions)}${shown.pages === 1 ? nothing : tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
      facts: [
        [label('id'), record.id],
        [label('ownerId'), personName(viewer, person)],
        [label('isPublic'), yesNo(record.isPublic)],
        [label('isPubliclyListed'), yesNo(record.isPubliclyListed)],
        [label('createdAt'), dateTimeText(viewer, Date.parse(record.createdAt))],
      ],
    }),
  })
}

function idsOf(entries: readonly LockEntry[]): number[] {
  return entries.map(({ id }) => id)
}

/** `2 sessions have ended. They lasted 1 h to 2 d.`: the lengths that the rules produced. */
function lengthsText(newest: readonly LockStats[], all: number): Html {
  const lengths = newest
    .flatMap(session => {
      const end = knownEnd(session)
      return end === null ? [] : [(end - session.at) / 1000]
    })
    .toSorted((a, b) => a - b)
  const [shortest = 0, longest = 0] = [lengths[0], lengths.at(-1)]
  if (lengths.length === 0) return nothing
  const which = newest.length < all ? ` of the newest ${numberText(newest.length)}` : ''
  if (lengths.length === 1)
    return html`<p class="summary">One session${which} has ended. It lasted ${durationText(longest)}.</p>`
  const middle = lengths[Math.ceil(lengths.length / 2) - 1] ?? 0
  const median = lengths.length < MIN_FOR_MEDIAN ? '' : `, half of them ${durationText(middle)} or less`
  return html`<p class="summary">${numberText(lengths.length)} sessions${which} have ended. They lasted ${durationText(shortest)} to ${durationText(longest)}${median}.</p>`
}

/** More would take long. */
const MAX_MEASURED = 400
const MIN_FOR_MEDIAN = 4

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

function sessionTable(visit: Visit, sessions: readonly LockStats[]): Html {
  const { viewer } = visit
  if (sessions.length === 0) return html`<p class="muted">No session has started from this template.</p>`
  return table(
    'Sessions with this template',
    [
      {
        title: label('startDate'),
        line: 'first',
        cell: ({ id, at }) => recordLink(visit, `/locks/${id}`, at),
      },
      { title: label('lockState'), line: 'first', cell: ({ state, isActive }) => stateMark(viewer, state, isActive) },
      {
        title: 'Lasted',
        numeric: true,
        line: 'second',
        cell: session => {
          const end = knownEnd(session)
          return end === null ? NONE : durationText((end - session.at) / 1000)
        },
      },
      {
        title: stateName('locked', viewer),
        numeric: true,
        line: 'second',
        unit: `\u00a0${stateName('locked', viewer).toLowerCase()}`,
        cell: ({ intervals }) => knownLength(intervals, totalsOf(intervals).locked),
      },
      {
        title: 'Longest stretch',
        numeric: true,
        cell: ({ intervals }) => knownLength(intervals, totalsOf(intervals).longest),
      },
    ],
    sessions,
  )
}

function lengthText({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): string {
  return isRandomDuration
    ? `${durationText(minDuration ?? 0)} to ${durationText(maxDuration ?? 0)}`
    : durationText(duration)
}

function breakText(template: LockTemplate): string {
  return template.isBreakEnabled ? breakRules(template) : 'None'
}

function yesNo(is: boolean): string {
  return is ? 'Yes' : 'No'
}

async function downloadCsv(visit: Visit) {
  const { viewer } = visit
  const templates = await templatesOfSubject(visit)
  const header = ['Number', 'Name', 'Length', 'Breaks', 'Sessions', 'Created']
  const rowOf = ({ record, sessions }: (typeof templates)[number]) => [
    record.id,
    recordName(viewer, 'lockTemplate', record),
    lengthText(record),
    breakText(record),
    sessions,
    record.createdAt,
  ]
  return csvFile(visit, 'lock-templates', header, templates, rowOf)
}

async function downloadRecords(visit: Visit) {
  const templates = await templatesOfSubject(visit)
  return ndjsonFile(visit, 'lock-templates', templates.map(({ document }) => `${document}\n`).join(''))
}
