import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { scaleLinear } from 'd3-scale'
import { boxes, dots, markText, type Range, round, stretched } from '../../charts/plane.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contract/time.ts'
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
  paged,
  paginate,
  rowsOfPage,
  tableFoot,
} from '../../layout/components.ts'
import { dateText, durationText, NONE, numberText } from '../../text/text.ts'
import { stateName } from './states.ts'
import { lockRow, lockTable } from './list.ts'
import { strip } from '../parts.ts'
import { endingOf } from './endings.ts'

const OF_TEMPLATES = { section: 'lockTemplates', area: 'lkbx' } as const

export const lockTemplatePages: readonly DashboardPage[] = [
  { ...OF_TEMPLATES, path: '/lock-templates', reads: 'list', handler: showTemplates },
  { ...OF_TEMPLATES, path: '/lock-templates/:id', reads: 'record', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { store, viewer, pageAccess, path, query, now } = visit
  const access = pageAccess.templates('lock_template')
  const total = await lockTemplates.count(store, access)
  const rows = rowsOfPage(total, query)
  const page = await lockTemplates.page(store, access, rows)
  const used = await withUses(store, page, pageAccess.ofAll('lock_session'))
  // Those of several pages are in the order in which they were made.
  const isSorted = used.length === total
  const templates = isSorted ? used.toSorted((a, b) => (b.last ?? 0) - (a.last ?? 0)) : used
  const until = countedUntil(viewer.asOf, now)
  const axis = axisOf([0, ...templates.flatMap(one => lengthsOf(one, until))])
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
              ${table('Lock templates', lockTemplateColumns(viewer, until, isSorted, axis), templates)}
              ${lengthsLegend(templates)}
              ${tableFoot(path, query, paged(templates, total, rows))}
            </section>
          `,
  })
}

export function lockTemplateColumns(
  viewer: Viewer,
  until: number,
  isSorted = false,
  axis?: Axis,
): TableColumn<TemplateUse>[] {
  const strips: TableColumn<TemplateUse> | undefined = axis && {
    title: html`<span class="hidden">Lasted</span>${lengthAxis(axis)}`,
    line: 'second',
    cell: use => html`<div class="lengths">${lengthMarks(use, axis, until, 300)}</div>`,
  }
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record, runningSince }) =>
        html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${runningSince === undefined ? nothing : html` <span class="state on">In use</span>`}${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}`,
    },
    {
      title: 'Planned',
      line: 'first',
      unit: '\u00a0planned',
      cell: ({ record }) => html`<span class="nowrap">${lengthText(record)}</span>`,
    },
    ...(strips === undefined ? [] : [strips]),
    {
      title: 'Median length',
      cell: use => html`<span class="nowrap">${medianText(use, until)}</span>`,
    },
    { title: stateName('completed', viewer), line: 'second', unit: '\u00a0completed', cell: completedText },
    {
      title: isSorted ? html`Last used<span aria-hidden="true"> ↓</span>` : 'Last used',
      sorted: isSorted ? 'descending' : undefined,
      numeric: true,
      line: 'second',
      before: 'last used ',
      cell: ({ last }) => (last === null ? 'never' : dateText(viewer, last)),
    },
  ]
}

/** `8 of 12` that ended; nothing where none has. */
function completedText({ sessions, completed }: TemplateUse): string {
  return sessions === 0 ? '' : `${numberText(completed)} of ${numberText(sessions)}`
}

/** The lower of two in the middle; `8 d 6 h so far` where only a running lock is known. */
function medianText({ lengths, runningSince = Infinity }: TemplateUse, until: number): string {
  const median = lengths[Math.floor((lengths.length - 1) / 2)]
  if (median !== undefined) return durationText(median / 1000)
  return runningSince > until ? NONE : `${durationText((until - runningSince) / 1000)} so far`
}

/** The shortest and the longest time that a template plans, in milliseconds. */
function plannedOf({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): Range {
  return isRandomDuration ? [(minDuration ?? 0) * 1000, (maxDuration ?? 0) * 1000] : [duration * 1000, duration * 1000]
}

/** All that a picture of a template shows. */
function lengthsOf({ record, lengths, runningSince = Infinity }: TemplateUse, until: number): number[] {
  return [...plannedOf(record), ...lengths, ...(runningSince > until ? [] : [until - runningSince])]
}

type Axis = ReturnType<typeof axisOf>

/** Some lengths, and room for a mark beside the least and the most. */
function axisOf(lengths: readonly number[]) {
  const [least, most] = [Math.min(...lengths), Math.max(...lengths)]
  const [unit, name] = LENGTHS.find(([length]) => most > 2 * length) ?? ([MINUTE_MS, 'min'] as const)
  const scale = scaleLinear([Math.max(0, Math.floor(least / unit) - 0.5), most / unit + 0.5], [2, 98])
  const [first = 0, last = 0] = scale.domain()
  const values = scale.ticks(Math.min(6, last - first))
  return {
    x: (length: number) => scale(length / unit),
    ticks: values.map(value => {
      return { at: scale(value), name: `${numberText(value)}${value === values.at(-1) ? `\u00a0${name}` : ''}` }
    }),
  }
}

const LENGTHS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
] as const

function lengthAxis({ ticks }: Axis): Html {
  const names = ticks.map(({ at, name }) => markText(at, 120, name, ' quiet'))
  return html`<div class="lengths">${strip(html`${names}`, 14)}</div>`
}

/** What is planned, and a dot for each lock, one above the other where they lasted as long; lines of the axis, also beyond it. */
function lengthMarks(use: TemplateUse, { x, ticks }: Axis, until: number, beyond = 0): Html {
  const [least, most] = plannedOf(use.record)
  const stacks: number[][] = []
  for (const at of use.lengths.map(x)) {
    const stack = stacks.at(-1)
    if (stack?.[0] !== undefined && at - stack[0] < DOT_WIDTH) stack.push(at)
    else stacks.push([at])
  }
  const points = stacks.flatMap(stack => {
    const shown = stack.slice(0, MAX_DOTS)
    const step = Math.min(22, 76 / (shown.length - 1))
    return shown.map((at, index) => ({ at, value: 50 + (index - (shown.length - 1) / 2) * step }))
  })
  const counts = stacks.filter(({ length }) => length > MAX_APART)
  const running = lengthsOf({ ...use, lengths: [] }, until).slice(2)
  const place = { x: (at: number) => at, y: (value: number) => value }
  const grid = ticks.map(({ at }) => `M${round(at * 10)} ${-beyond}V${1000 + beyond}`).join('')
  return strip(
    html`${stretched(html`<path class="grid" d="${grid}"/>`)}${boxes('usual', [{ x: [x(least) - 0.5, x(most) + 0.5], y: [0, 100] }])}${dots('filled', place, points)}${dots(
      'hollow',
      place,
      running.map(length => ({ at: x(length), value: 50 })),
    )}${counts.map(stack => markText((stack.at(-1) ?? 0) + 2, 50, numberText(stack.length), ' at-end'))}`,
    36,
  )
}

/** In per cent of a picture. */
const DOT_WIDTH = 2.4
const MAX_DOTS = 9
/** More in a stack cover each other, so their count stands beside them. */
const MAX_APART = 4

function lengthsLegend(templates: readonly TemplateUse[]): Html {
  const isRunning = templates.some(({ runningSince }) => runningSince !== undefined)
  return legendOf([
    ['filled', 'A lock'],
    ...(isRunning ? ([['hollow', 'Running, so far']] as const) : []),
    ['usual', 'Planned'],
  ])
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
        ${use === undefined || use.last === null ? nothing : html`${useStats(viewer, use, until)}${lengthsCard(use, until)}`}
        ${card('Rules', html`${facts(shownRules(viewer, record))}${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${lockTable('Locks with this template', visit, rows, false)}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

/** The lengths of the locks, on what is planned. */
function lengthsCard(use: TemplateUse, until: number): Html {
  const axis = axisOf(lengthsOf(use, until))
  return card(
    'How long they lasted',
    html`<figure class="lengths">${lengthMarks(use, axis, until)}</figure>${lengthAxis(axis)}${lengthsLegend([use])}`,
  )
}

function useStats(viewer: Viewer, use: TemplateUse, until: number): Html {
  const { lengths, last } = use
  const [least, most] = [lengths[0], lengths.at(-1)].map(length => durationText((length ?? 0) / 1000))
  return stats(
    mainStat(
      'Median length',
      medianText(use, until),
      use.sessions === 0 ? undefined : `${completedText(use)} completed`,
    ),
    least === most ? nothing : stat('Lasted', `${least} to ${most}`),
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
