import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, someLocks } from '../../../stats/lock-queries.ts'
import { latestLocks, lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { boxes, levels, markText } from '../../charts/plane.ts'
import { medianOf } from '../../../contract/numbers.ts'
import { DAY_MS, HOUR_MS } from '../../../contract/time.ts'
import { legendOf } from '../../charts/picture.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
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
  paginate,
  tableFoot,
} from '../../layout/components.ts'
import { dateText, durationText, NONE, numberText, partText, unbroken } from '../../text/text.ts'
import { stateName } from './states.ts'
import { lockColumns, lockRow } from './list.ts'
import { leastNews, strip, tenLinks } from '../parts.ts'
import { endingOf, rangeOf } from './time.ts'

const OF_TEMPLATES = { section: 'lockTemplates', area: 'lkbx' } as const

export const lockTemplatePages: readonly DashboardPage[] = [
  { ...OF_TEMPLATES, path: '/lock-templates', reads: 'list', handler: showTemplates },
  { ...OF_TEMPLATES, path: '/lock-templates/:id', reads: 'record', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { store, viewer, pageAccess, path, query } = visit
  const all = await lockTemplates.all(store, pageAccess.templates('lock_template'))
  const access = pageAccess.ofAll('lock_session')
  const [used, latest] = [await withUses(store, all, access), await latestLocks(store, access)]
  const shown = paginate(
    used.toSorted((a, b) => (b.last ?? 0) - (a.last ?? 0)),
    query,
  )
  for (const owner of shown.rows.flatMap(({ owners }) => owners)) pageAccess.note('lkbx', owner)
  const drawn = shown.rows.map(({ record }) => ({ record, locks: latest.get(record.id) ?? [] }))
  return view({
    title: 'Lock templates',
    lead: leastNews(
      used.flatMap(({ record, sessions, completed }) => {
        const name = () =>
          html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>`
        return record.isTestLock ? [] : [{ name, done: completed, of: sessions }]
      }),
      ['completed', 'All locks were completed'],
    ),
    body:
      all.length === 0
        ? noRecords(
            viewer,
            'No lock templates yet',
            'This page will show the rules that lock sessions start from: how long they last, when breaks are due, and what changes their length.',
          )
        : html`<section class="card" id="sessions">${legendOf(lengthsLegend(viewer, drawn))}${table('Lock templates', lockTemplateColumns(viewer, latest), shown.rows)}${tableFoot(path, query, shown)}</section>`,
  })
}

type Latest = Awaited<ReturnType<typeof latestLocks>>
type Lasted = NonNullable<ReturnType<Latest['get']>>

/** The columns of templates; on a page, with drawings of the last locks, the one that was used last is the first. */
export function lockTemplateColumns(viewer: Viewer, latest?: Latest): TableColumn<TemplateUse>[] {
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record, runningSince }) =>
        html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${runningSince === undefined ? nothing : html` <span class="state on">In use</span>`}${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}<div class="small muted">${dotted(`${lengthText(record)} planned`, breaksRule(viewer, record))}</div>`,
    },
    ...(latest === undefined
      ? []
      : [
          {
            title: 'Last ten, each on a scale of its own',
            line: 'second',
            cell({ record }: TemplateUse) {
              const locks = latest.get(record.id)
              if (locks === undefined) return html`<span class="muted">None has ended yet</span>`
              return strip(lengthBars(record, locks))
            },
          } as const,
        ]),
    {
      title: stateName('completed', viewer),
      numeric: true,
      line: 'first',
      unit: '\u00a0completed',
      cell: completedText,
    },
    {
      title: latest ? html`Last\u00a0used<span aria-hidden="true"> ↓</span>` : 'Last used',
      sorted: latest && 'descending',
      numeric: true,
      line: 'second',
      before: 'last used ',
      cell: ({ last }) => (last === null ? 'never' : dateText(viewer, last)),
    },
  ]
}

/** `1 h break every 12 h`, `no breaks`. Discreet mode hides rules. */
function breaksRule({ discreet }: Viewer, { isBreakEnabled, breakMaximum, breakRegularity }: LockTemplate): Part {
  if (discreet) return nothing
  return isBreakEnabled ? `${durationText(breakMaximum)} break every ${durationText(breakRegularity)}` : 'no breaks'
}

/** `8 of 12` that ended. */
function completedText({ record, sessions, completed }: TemplateUse): Part {
  // Two lines leave it out.
  return sessions === 0 || record.isTestLock
    ? html`<span class="zero">${NONE}</span>`
    : unbroken(`${numberText(completed)} of ${numberText(sessions)}`)
}

/** Bars of how long locks lasted, with a line at the length that is planned, or on a band where it is random; in a row, only the last one has a text. */
function lengthBars(template: LockTemplate, locks: Lasted, isInRow = true): Html {
  const [shortest, longest] = rangeOf(template)
  const most = Math.max(1, longest, ...locks.map(({ length }) => length))
  const y = (length: number) => 98 - (length * 84) / most
  const slots = isInRow ? 10 : locks.length
  const step = 100 / slots
  const planned = [100 - step * locks.length, 100] as const
  const bars = locks.map(({ length, completed }, index) => {
    const x = (slots - locks.length + index + 0.5) * step
    const units = Math.round((length * 10) / unitOf(locks)) / 10
    const box = { x: [x - 3.5, x + 3.5], y: [y(length), y(0)] } as const
    return html`${boxes(completed > 0 ? 'solid' : 'missed', [box])}${!isInRow && units > 0 && markText(x, y(length), numberText(units))}`
  })
  const last = isInRow && markText(100, 50, durationText((locks.at(-1)?.length ?? 0) / 1000), ' at-end')
  return plannedLook(template) === 'usual'
    ? html`${boxes('usual', [{ x: planned, y: [y(longest), y(shortest)] }])}${bars}${last}`
    : html`${bars}${plannedLook(template) && levels('goal', [{ x: planned, y: y(longest) }])}${last}`
}

/** In days, or hours where none lasted two days. */
function unitOf(locks: Lasted): number {
  return locks.some(({ length }) => length >= 2 * DAY_MS) ? DAY_MS : HOUR_MS
}

function plannedLook(template: LockTemplate): 'usual' | 'goal' | undefined {
  const [shortest, longest] = rangeOf(template)
  return shortest < longest ? 'usual' : longest > 0 ? 'goal' : undefined
}

function lengthsLegend(viewer: Viewer, drawn: readonly { readonly record: LockTemplate; readonly locks: Lasted }[]) {
  const looks = drawn.flatMap(({ record, locks }) => [
    locks.length > 0 && plannedLook(record),
    ...locks.map(({ completed }) => (completed > 0 ? 'solid' : 'missed')),
  ])
  const completed = stateName('completed', viewer)
  const names = { solid: completed, missed: 'Not completed', goal: 'Planned', usual: 'Planned range' }
  return Object.entries(names).filter(([look]) => looks.some(one => one === look))
}

/** How long the last locks were. */
function lengthsCard(viewer: Viewer, template: LockTemplate, locks: Lasted): Html {
  if (locks.length < 2) return nothing
  const lengths = locks.map(({ length }) => length)
  const lengthOf = (length = 0) => durationText(length / 1000)
  const nameOf = ({ length, completed }: Lasted[number]) =>
    `${durationText(length / 1000)}, ${completed > 0 ? stateName('completed', viewer).toLowerCase() : 'not completed'}`
  return card(
    `Length of the last ${locks.length}, in ${unitOf(locks) === DAY_MS ? 'days' : 'hours'}`,
    html`
      <p class="summary"><b>${lengthOf(medianOf(lengths))}</b> median; they lasted from ${lengthOf(Math.min(...lengths))} to ${lengthOf(Math.max(...lengths))}</p>
      <div class="plot">${strip(lengthBars(template, locks, false), 144)}${tenLinks(viewer, '/locks', locks, nameOf)}</div>
      ${legendOf(lengthsLegend(viewer, [{ record: template, locks }]))}
    `,
    { id: 'lengths' },
  )
}

async function showTemplate(visit: Visit) {
  const { store, viewer, pageAccess, id, now, path, query } = visit
  const template = (await lockTemplates.find(store, pageAccess.ofAll('lock_template'), [id])).get(id)
  if (template === undefined) throw notFound('Lock template')
  const { record, document, owner } = template
  const access = pageAccess.sessions('lkbx', owner)
  const entries = (await lockHistory(store, access)).entries.filter(entry => entry.template === id)
  const { asOf } = await readKnownTime(store, viewer.session.accountId, owner, now)
  const until = countedUntil(asOf, now)
  const ofAll = pageAccess.ofAll('lock_session')
  const [[use], latest] = [await withUses(store, [template], ofAll), await latestLocks(store, ofAll)]
  for (const user of use?.owners ?? []) pageAccess.note('lkbx', user)
  const shown = paginate(entries, query)
  const ids = shown.rows.map(entry => entry.id)
  const records = await lockRecords(store, access, ids)
  const rows = (await someLocks(store, access, ids, until)).map(session => {
    const row = lockRow(session, records.get(session.id))
    return { ...row, ending: row.record && endingOf(session, row.record, record) }
  })
  const areNamed = rows.some(row => row.record?.name !== record.name)
  return view({
    owner,
    asOf,
    title: recordName(viewer, 'lockTemplate', record),
    back: visit.sectionStart,
    lead: dotted(
      `Lock template, created ${dateText(viewer, Date.parse(record.createdAt))}`,
      owner === viewer.subject.id ? nothing : personName(viewer, personOf(viewer, owner)),
    ),
    body: recordTabs(visit, {
      owner,
      apiPath: `/api/v1/lkbx/templates/${record.id}`,
      json: document,
      summary: () => html`
        ${use === undefined || use.last === null ? nothing : useStats(viewer, use)}
        ${lengthsCard(viewer, record, latest.get(id) ?? [])}
        ${card('Rules', html`${facts(shownRules(viewer, record))}${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${table('Locks with this template', lockColumns(visit, 0, areNamed), rows, { id: 'session-table' })}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

function useStats(viewer: Viewer, use: TemplateUse): Html {
  const { last, sessions, completed } = use
  return stats(
    sessions > 0 &&
      !use.record.isTestLock &&
      mainStat(
        stateName('completed', viewer),
        completedText(use),
        `${partText(completed, sessions)} of those that ended`,
      ),
    stat('Planned', lengthText(use.record)),
    stat('Last used', dateText(viewer, last ?? 0)),
  )
}

type Rule = readonly [name: string, value: string]

/** In discreet mode only the length: the other rules contain words that discreet mode hides. */
export function shownRules({ discreet }: Pick<Viewer, 'discreet'>, record: LockTemplate): Rule[] {
  return rulesOf(record).slice(0, discreet ? 1 : undefined)
}

/** The rules of a template that apply, the first its length. They state values of fields and do not interpret them. */
export function rulesOf(template: LockTemplate): Rule[] {
  const { breakMaximum, breakPenalty, breakRegularity } = template
  const rules: (Rule | false)[] = [
    ['Length', `${lengthText(template)}${template.isRandomDuration ? ', at random' : ''}`],
    [
      'Breaks',
      template.isBreakEnabled ? `up to ${durationText(breakMaximum)} every ${durationText(breakRegularity)}` : 'none',
    ],
    template.isBreakEnabled && breakPenalty > 0 && ['A late break', `adds ${durationText(breakPenalty)}`],
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

export function lengthText({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): string {
  return isRandomDuration
    ? `${durationText(minDuration ?? 0)} to ${durationText(maxDuration ?? 0)}`
    : durationText(duration)
}
