import { notFound } from '../../contract/errors.ts'
import type { LockTemplate } from '../../contract/lock-templates.ts'
import { csv } from '../csv.ts'
import { lockHistory } from '../../stats/queries.ts'
import { lockTemplate, lockTemplates, totalsOf } from '../../stats/locks.ts'
import { html, type Html, nothing } from '../html.ts'
import { label } from '../labels.ts'
import { personName, personOf, recordName } from '../names.ts'
import { datedFile, download, type Page, view, type Viewer, type Visit } from '../page.ts'
import { apiTabs, card, emptyState, facts, table, tabs } from '../components.ts'
import { countText, dateText, dateTimeText, durationText, NONE, numberText } from '../text.ts'
import { stateMark } from './lock-states.ts'

export const lockTemplatePages: readonly Page[] = [
  { path: '/lock-templates', handler: showTemplates },
  { path: '/lock-templates.csv', handler: downloadCsv },
  { path: '/lock-templates.ndjson', handler: downloadRecords },
  { path: '/lock-templates/:id', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { viewer } = visit
  const templates = await templatesOfSubject(visit)
  return view({
    section: 'lockTemplates',
    title: 'Lock templates',
    lead: templates.length === 0 ? undefined : 'The rules that lock sessions start from.',
    body:
      templates.length === 0
        ? emptyState(
            'No lock templates yet',
            html`Here you would see the rules that lock sessions start from: how long they last, when breaks are due, and what changes their length. They come in with an archive: <code>lockstep import records.ndjson</code>.`,
          )
        : html`
            <section class="card">
              <div class="card-head">
                <h2>${countText(templates.length, 'template')}</h2>
                <p class="downloads">
                  <a href="/lock-templates.csv" download>CSV</a>
                  <a href="/lock-templates.ndjson" download>NDJSON</a>
                </p>
              </div>
              ${table(
                'Lock templates',
                [
                  {
                    title: label('name'),
                    cell: ({ record }) =>
                      html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}`,
                  },
                  { title: label('duration'), cell: ({ record }) => lengthText(record) },
                  { title: label('isBreakEnabled'), cell: ({ record }) => breakText(record) },
                  { title: 'Sessions', numeric: true, cell: ({ sessions }) => numberText(sessions) },
                  {
                    title: 'Last used',
                    cell: ({ last }) =>
                      last === null
                        ? html`<span class="muted">Never</span>`
                        : html`<span class="nowrap">${dateText(viewer, last)}</span>`,
                  },
                  {
                    title: label('createdAt'),
                    cell: ({ record }) =>
                      html`<span class="nowrap">${dateText(viewer, Date.parse(record.createdAt))}</span>`,
                  },
                ],
                templates,
              )}
            </section>
          `,
  })
}

function templatesOfSubject({ store, reading }: Visit) {
  return lockTemplates(store, reading.templates('lock_template'), reading.ofAll('lock_session'))
}

async function showTemplate(visit: Visit) {
  const { store, viewer, reading, id, now, baseUrl, path, query } = visit
  const template = await lockTemplate(store, reading.ofAll('lock_template'), id)
  if (template === undefined) throw notFound('Lock template')
  const { record, document, owner } = template
  const history = await lockHistory(store, reading.sessions('lkbx', owner), now)
  const sessions = history.filter(session => session.template === id).toReversed()
  const person = personOf(viewer, owner)
  return view({
    section: 'lockTemplates',
    title: recordName(viewer, 'lockTemplate', record),
    back: { path: '/lock-templates', title: 'Lock templates' },
    lead: html`${countText(sessions.length, 'session')} · created ${dateText(viewer, Date.parse(record.createdAt))}${
      owner === viewer.subject.id ? nothing : ` · ${personName(viewer, person)}`
    }`,
    body: html`
      ${tabs(path, query.get('view'), [
        {
          name: 'table',
          title: 'Table',
          body: () => html`
            ${card('Rules', html`<ul class="rules">${rulesOf(record).map(rule => html`<li>${rule}</li>`)}</ul>`)}
            ${card('Sessions with it', sessionTable(viewer, sessions))}
            ${card(
              'Record',
              facts([
                [label('id'), record.id],
                [label('ownerId'), personName(viewer, person)],
                [label('isPublic'), yesNo(record.isPublic)],
                [label('isPubliclyListed'), yesNo(record.isPubliclyListed)],
                [label('createdAt'), dateTimeText(viewer, Date.parse(record.createdAt))],
              ]),
            )}
          `,
        },
        ...apiTabs(baseUrl, `/api/v1/lkbx/templates/${record.id}`, document, viewer.discreet),
      ])}
    `,
  })
}

/** The rules of a template, one sentence for each. */
export function rulesOf(template: LockTemplate): string[] {
  const { breakRegularity, breakMaximum, breakPenalty, deepthroatTimeReduction, shameTimeAdd } = template
  return [
    template.isRandomDuration
      ? `A session lasts between ${durationText(template.minDuration ?? 0)} and ${durationText(template.maxDuration ?? 0)}, drawn when it starts.`
      : `A session lasts ${durationText(template.duration)}.`,
    ...(template.isBreakEnabled
      ? [
          `A break is due ${breakRegularity > 0 ? `every ${durationText(breakRegularity)}` : 'at any time'} and lasts up to ${durationText(breakMaximum)}.`,
          breakPenalty > 0
            ? `Coming back late adds ${durationText(breakPenalty)}.`
            : 'Coming back late changes nothing.',
          template.breakKeyholderOnly ? 'Only a keyholder grants breaks.' : 'Breaks need nobody to grant them.',
        ]
      : ['There are no breaks.']),
    template.isDeepthroatEnabled
      ? `${label('isDeepthroatEnabled')}: a task that is done takes off ${durationText(deepthroatTimeReduction)}.`
      : 'Tasks do not shorten it.',
    template.isShameEnabled
      ? `${label('isShameEnabled')}: each vote adds ${durationText(shameTimeAdd)}.`
      : 'Votes do not lengthen it.',
    template.isEmergencyUnlockEnabled ? 'An emergency unlock is allowed.' : 'There is no emergency unlock.',
    template.isTimeDisplayed ? 'The remaining time is shown.' : 'The remaining time is hidden.',
    ...(template.isTestLock ? ['Sessions that start from it are tests.'] : []),
  ]
}

function sessionTable(viewer: Viewer, sessions: Awaited<ReturnType<typeof lockHistory>>): Html {
  if (sessions.length === 0) return html`<p class="muted">No session has started from it.</p>`
  return table(
    'Sessions with this template',
    [
      {
        title: label('startDate'),
        cell: ({ id, at }) => html`<a class="when" href="/locks/${id}">${dateTimeText(viewer, at)}</a>`,
      },
      { title: label('lockState'), cell: ({ state, isActive }) => stateMark(state, isActive) },
      { title: 'Locked', numeric: true, cell: ({ intervals }) => durationText(totalsOf(intervals).locked / 1000) },
      {
        title: 'Longest stretch',
        numeric: true,
        cell: ({ intervals }) => durationText(totalsOf(intervals).longest / 1000),
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

function breakText({ isBreakEnabled, breakRegularity, breakMaximum }: LockTemplate): string {
  return isBreakEnabled ? `${durationText(breakMaximum)} every ${durationText(breakRegularity)}` : NONE
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
  return download({
    file: datedFile('lock-templates', visit, 'csv'),
    type: 'text/csv; charset=utf-8',
    body: csv(header, templates, rowOf),
  })
}

async function downloadRecords(visit: Visit) {
  const templates = await templatesOfSubject(visit)
  return download({
    file: datedFile('lock-templates', visit, 'ndjson'),
    type: 'application/x-ndjson',
    body: templates.map(({ document }) => `${document}\n`).join(''),
  })
}
