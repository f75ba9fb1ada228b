import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { resultDots } from '../../charts/plane.ts'
import { medianOf } from '../../../contract/numbers.ts'
import { legendOf, resultLegend } from '../../charts/picture.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  FIRST,
  SECOND,
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
import { BLANK, dateText, durationText, numberText, partText, unbroken } from '../../text/text.ts'
import { stateName } from './states.ts'
import { lengthCell, lockRow, lockTable, planLegend } from './list.ts'
import { barEnds, doneText, leastNews, strip } from '../parts.ts'
import { endingOf, rangeOf } from './time.ts'

const OF_TEMPLATES = { section: 'lockTemplates', area: 'lkbx' } as const

export const lockTemplatePages: readonly DashboardPage[] = [
  { ...OF_TEMPLATES, path: '/lock-templates', reads: 'list', handler: showTemplates },
  { ...OF_TEMPLATES, path: '/lock-templates/:id', reads: 'record', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { store, viewer, pageAccess, path, query, now } = visit
  const all = await lockTemplates.all(store, pageAccess.templates('lock_template'))
  const used = await withUses(store, all, pageAccess.ofAll('lock_session'))
  const shown = paginate(used, query)
  const until = countedUntil(viewer.asOf, now)
  const lengths = shown.rows.map(use => lengthsOf(use, until))
  const planned = lengths.map(one => one.planned)
  const most = Math.max(0, ...lengths.flatMap(({ median = 0, soFar = 0 }) => [median, soFar]), ...planned.flat())
  for (const owner of shown.rows.flatMap(({ owners }) => owners)) pageAccess.note('lkbx', owner)
  return view({
    title: 'Lock templates',
    lead: leastNews(
      used.map(use => ({ name: () => linkTo(viewer, use.record), ...tenOf(use) })),
      ['completed in the last ten', 'The last ten locks with each template were completed'],
    ),
    body:
      all.length === 0
        ? noRecords(
            viewer,
            'No lock templates yet',
            'This page will show the rules that lock sessions start from: how long they last, when breaks are due, and what changes their length.',
          )
        : html`<section class="card" id="sessions">${legendOf([
            ...resultLegend(
              shown.rows.flatMap(({ lastTen }) => lastTen.map(one => one.isCompleted)),
              OUTCOMES,
            ),
            lengths.some(({ median }) => median !== undefined) && ['solid', 'Median length'],
            lengths.some(({ soFar }) => soFar !== undefined) && ['so-far', 'So far'],
            ...planLegend(planned),
          ])}${table('Lock templates', lockTemplateColumns(viewer, until, most), shown.rows)}${tableFoot(path, query, shown)}</section>`,
  })
}

/** The columns of templates, which `withUses` has sorted. Bars are drawn up to `most` milliseconds, if it is more than 0. */
export function lockTemplateColumns(viewer: Viewer, until: number, most = 0): TableColumn<TemplateUse>[] {
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record, runningSince }) =>
        html`${linkTo(viewer, record)}${runningSince === undefined ? nothing : html` <span class="state on">In use</span>`}${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}<div class="small muted">${dotted(`${lengthText(record)} planned`, breaksRule(viewer, record))}</div>`,
    },
    { title: 'Last ten', line: 'second', cell: outcomes },
    {
      title: stateName('completed', viewer),
      ...FIRST,
      unit: '\u00a0completed',
      cell: use => (use.sessions === 0 ? BLANK : doneText(tenOf(use), use.completed, use.sessions)),
    },
    {
      title: most === 0 ? 'Median length' : html`Length${barEnds('0', durationText(most / 1000))}`,
      line: 'second',
      unit: use => (lengthsOf(use, until).median === undefined ? '' : '\u00a0median'),
      cell(use) {
        const { median, soFar, planned } = lengthsOf(use, until)
        const length = median ?? soFar
        if (length === undefined) return BLANK
        const text = html`${durationText(length / 1000)}${median === undefined && html`<br> <small class="muted">so far</small>`}`
        return most === 0 ? text : lengthCell(text, most, [median === undefined ? 'so-far' : 'solid', length], planned)
      },
    },
    {
      title: 'Last started',
      ...SECOND,
      before: 'last started ',
      cell: ({ last }) => (last === null ? 'never' : dateText(viewer, last)),
    },
  ]
}

function linkTo(viewer: Viewer, record: LockTemplate): Html {
  return html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>`
}

const OUTCOMES = ['Completed', 'Not completed'] as const

function tenOf({ lastTen }: TemplateUse) {
  return { done: lastTen.filter(({ isCompleted }) => isCompleted).length, of: lastTen.length }
}

/** The median of the last ten locks, how long one has been running, and what is planned: a length, or the shortest and the longest. */
function lengthsOf({ record, lastTen, runningSince }: TemplateUse, until: number) {
  const median = medianOf(lastTen.flatMap(({ length }) => length ?? []))
  const isShown = runningSince !== undefined && record.isTimeDisplayed && !record.isTestLock
  const soFar = isShown && median === undefined ? Math.max(0, until - runningSince) : undefined
  return { median, soFar, planned: (median ?? soFar) === undefined ? [] : rangeOf(record) }
}

/** A dot for each of the last ten locks, the last one at the end. */
function outcomes({ lastTen }: TemplateUse): Html {
  if (lastTen.length === 0) return nothing
  const points = lastTen.toReversed().map(({ isCompleted }, at) => ({ at, value: 0, isPassed: isCompleted }))
  const texts = points.map(({ isPassed }) => OUTCOMES[isPassed ? 0 : 1].toLowerCase())
  return html`${strip(resultDots({ x: at => 4 + at * 10, y: () => 50 }, points), 16)}<span class="hidden">${texts.join(', ')}</span>`
}

/** `1 h break every 12 h`, `no breaks`. Discreet mode hides rules. */
function breaksRule({ discreet }: Viewer, { isBreakEnabled, breakMaximum, breakRegularity }: LockTemplate): Part {
  if (discreet) return nothing
  return isBreakEnabled
    ? `${durationText(breakMaximum)} break every ${durationText(breakRegularity, Infinity)}`
    : 'no breaks'
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
  const [use] = await withUses(store, [template], pageAccess.ofAll('lock_session'))
  for (const user of use?.owners ?? []) pageAccess.note('lkbx', user)
  const shown = paginate(entries, query)
  const ids = shown.rows.map(entry => entry.id)
  const records = await lockRecords(store, access, ids)
  const rows = (await someLocks(store, access, ids, until)).map(session => {
    const row = lockRow(session, records.get(session.id))
    return { ...row, ending: row.record && endingOf(session, row.record, record) }
  })
  // A number without a unit tells little: it stands below the others.
  const rules = Map.groupBy(shownRules(viewer, record), ([, value]) => value.endsWith(NO_UNIT))
  const others = rules.get(true) ?? []
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
        ${card('Rules', html`${facts(rules.get(false) ?? [])}${others.length > 0 && html`<details class="figures"><summary>${others.map(([name]) => name).join(', ')}</summary><p class="small muted">${others.map(([name, value]) => `${name} ${value}. `)}</p></details>`}${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${lockTable({ ...visit, viewer: { ...viewer, asOf } }, rows, areNamed)}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

function useStats(viewer: Viewer, use: TemplateUse): Html {
  const { last, sessions, completed } = use
  const lengths = use.lastTen.flatMap(({ length }) => length ?? [])
  const lengthOf = (length = 0) => durationText(length / 1000)
  return stats(
    sessions > 0 &&
      mainStat(
        stateName('completed', viewer),
        unbroken(`${numberText(completed)} of ${numberText(sessions)}`),
        `${partText(completed, sessions)} of those that ended`,
      ),
    lengths.length > 1 &&
      stat(
        'Median length',
        lengthOf(medianOf(lengths)),
        `shortest ${lengthOf(Math.min(...lengths))}, longest ${lengthOf(Math.max(...lengths))}`,
      ),
    stat('Last started', dateText(viewer, last ?? 0)),
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
      template.isBreakEnabled
        ? `up to ${durationText(breakMaximum)} every ${durationText(breakRegularity, Infinity)}`
        : 'none',
    ],
    template.isBreakEnabled && breakPenalty > 0 && ['A late break', `adds ${durationText(breakPenalty)}`],
    template.isBreakEnabled && template.breakKeyholderOnly && ['Breaks are started', 'only by the keyholder'],
    template.isDeepthroatEnabled && [
      'Task credit',
      `takes off ${numberText(template.deepthroatTimeReduction)} ${NO_UNIT}`,
    ],
    template.isShameEnabled && ['Penalty votes', `add ${numberText(template.shameTimeAdd)} ${NO_UNIT}`],
    template.isEmergencyUnlockEnabled && ['Emergency unlock', 'possible'],
    ['Remaining time', template.isTimeDisplayed ? 'shown' : 'hidden'],
    template.isTestLock && ['Figures', 'not counted'],
  ]
  return rules.filter(rule => rule !== false)
}

const NO_UNIT = '(unit\u00a0not\u00a0recorded)'

export function lengthText({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): string {
  return isRandomDuration
    ? `${durationText(minDuration ?? 0)} to ${durationText(maxDuration ?? 0)}`
    : durationText(duration)
}
