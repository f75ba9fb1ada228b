import { notFound } from '../../../contract/errors.ts'
import { percentileOf } from '../../../contract/numbers.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { scaleLinear } from 'd3-scale'
import { boxes, dots, markText, percent, resultDots, type Range, round, stretched } from '../../charts/plane.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contract/time.ts'
import { figuresTable, type LegendItem, legendOf, picture } from '../../charts/picture.ts'
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
import { dateText, dateTimeText, durationText, NONE, numberText, partText, unbroken } from '../../text/text.ts'
import { stateName } from './states.ts'
import { lengthOf, lockRow, lockTable } from './list.ts'
import { leastNews, strip } from '../parts.ts'
import { endingOf } from './time.ts'

const OF_TEMPLATES = { section: 'lockTemplates', area: 'lkbx' } as const

export const lockTemplatePages: readonly DashboardPage[] = [
  { ...OF_TEMPLATES, path: '/lock-templates', reads: 'list', handler: showTemplates },
  { ...OF_TEMPLATES, path: '/lock-templates/:id', reads: 'record', handler: showTemplate },
]

async function showTemplates(visit: Visit) {
  const { store, viewer, pageAccess, path, query, now } = visit
  const all = await lockTemplates.all(store, pageAccess.templates('lock_template'))
  const used = await withUses(store, all, pageAccess.ofAll('lock_session'))
  const shown = paginate(
    used.toSorted((a, b) => (b.last ?? 0) - (a.last ?? 0)),
    query,
  )
  const until = countedUntil(viewer.asOf, now)
  const axis = axisOf([0, ...shown.rows.flatMap(one => lengthsOf(one, until))])
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
        : html`
            <section class="card" id="sessions">
              ${legendOf(lengthsLegend(viewer))}
              ${table('Lock templates', lockTemplateColumns(viewer, until, axis), shown.rows)}
              ${tableFoot(path, query, shown)}
            </section>
          `,
  })
}

/** The columns of templates; with an axis for a page, where the one that was used last is the first. */
export function lockTemplateColumns(viewer: Viewer, until: number, axis?: Axis): TableColumn<TemplateUse>[] {
  const strips: TableColumn<TemplateUse> | undefined = axis && {
    title: html`Lasted, in ${axis.units}${lengthAxis(axis)}`,
    line: 'second',
    cell: use => strip(lengthMarks(use, axis, until, 300), 44),
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
    { title: 'Median length', cell: use => html`<span class="nowrap">${medianText(use)}</span>` },
    { title: stateName('completed', viewer), line: 'second', unit: '\u00a0completed', cell: completedText },
    {
      title: axis ? html`Last used<span aria-hidden="true"> ↓</span>` : 'Last used',
      sorted: axis && 'descending',
      numeric: true,
      line: 'second',
      before: 'last used ',
      cell: ({ last }) => (last === null ? 'never' : dateText(viewer, last)),
    },
  ]
}

/** `8 of 12` that ended; a dash, which two lines leave out, where none has. */
function completedText({ sessions, completed }: TemplateUse): Part {
  return sessions === 0
    ? html`<span class="zero">${NONE}</span>`
    : unbroken(`${numberText(completed)} of ${numberText(sessions)}`)
}

function medianText({ lengths }: TemplateUse): string {
  const median = percentileOf(
    lengths.map(({ length }) => length),
    0.5,
  )
  return median === undefined ? NONE : durationText(median / 1000)
}

/** The shortest and the longest time that a template plans, in milliseconds. */
function plannedOf({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): Range {
  return isRandomDuration ? [(minDuration ?? 0) * 1000, (maxDuration ?? 0) * 1000] : [duration * 1000, duration * 1000]
}

/** All that a picture of a template shows. */
function lengthsOf({ record, lengths, runningSince = Infinity }: TemplateUse, until: number): number[] {
  return [
    ...plannedOf(record),
    ...lengths.map(one => one.length),
    ...(runningSince > until ? [] : [until - runningSince]),
  ]
}

type Axis = ReturnType<typeof axisOf>

/** Some lengths, and room for a mark beside the least and the most. */
function axisOf(lengths: readonly number[]) {
  const [least, most] = [Math.min(...lengths), Math.max(...lengths)]
  const { unit, units } = UNITS.find(({ unit }) => most > 2 * unit) ?? { unit: MINUTE_MS, units: 'minutes' }
  const end = most / unit + 0.5
  const scale = scaleLinear([Math.max(0, Math.floor(least / unit) - 0.5), end > 6 ? Math.ceil(end) : end], [2, 98])
  const [first = 0, last = 0] = scale.domain()
  const values = scale.ticks(last - first < 3 ? 5 : Math.min(6, last - first))
  return {
    units,
    x: (length: number) => scale(length / unit),
    ticks: values.map(value => ({ at: scale(value), name: numberText(value) })),
  }
}

/** In what lengths are read. */
const UNITS = [
  { unit: DAY_MS, units: 'days' },
  { unit: HOUR_MS, units: 'hours' },
]

function lengthAxis({ ticks }: Axis): Html {
  const names = ticks.map(({ at, name }) => markText(at, 120, name, ' quiet'))
  return strip(html`${names}`, 14)
}

/**
 * What is planned, and a dot for each lock, above each other where they lasted as long, or with their number. In a list, where the lines
 * of the axis go on `beyond` a row, in thousandths, and of many locks, a band with their median.
 */
function lengthMarks(use: TemplateUse, { x, ticks }: Axis, until: number, beyond = 0): Html {
  const [least, most] = plannedOf(use.record)
  const grid = ticks.map(({ at }) => `M${round(at * 10)} ${-beyond}V${1000 + beyond}`).join('')
  const under = html`${stretched(html`<path class="grid" d="${grid}"/>`)}${boxes('usual', [{ x: [x(least) - 1, x(most) + 1], y: [0, 100] }])}`
  const place = { x: (at: number) => at, y: (value: number) => value }
  const running = lengthsOf({ ...use, lengths: [] }, until)
    .slice(2)
    .map(length => ({ at: x(length), value: 50, text: `${durationText(length / 1000)} so far` }))
  const soFar = html`${dots('so-far', place, running)}${running.map(({ at, text }) => (at < 50 ? markText(at, 50, text, ' quiet at-end') : markText(at - 3.5, 50, text, ' quiet inside end')))}`
  if (use.lengths.length > 0 && (beyond > 0 || use.lengths.length > MAX_DRAWN)) {
    const lengths = use.lengths.map(({ length }) => x(length))
    const [low = 0, at = 0, high = 0] = [0.1, 0.5, 0.9].map(part => percentileOf(lengths, part))
    return html`${under}${boxes('spread', [{ x: [low, high], y: [35, 65] }])}${dots('filled', place, [{ at, value: 50 }])}${soFar}`
  }
  const stacks: (typeof use.lengths)[number][][] = []
  for (const one of use.lengths) {
    const last = stacks.at(-1)
    if (last?.[0] !== undefined && x(one.length) - x(last[0].length) < DOT_WIDTH) last.push(one)
    else stacks.push([one])
  }
  const points = stacks.flatMap(stack => {
    const isMany = stack.length > MAX_STACKED
    const drawn = [...Map.groupBy(stack, (one, index) => (isMany ? one.isCompleted : index)).values()]
    return drawn.map((alike, index) => {
      const value = 50 + (index - (drawn.length - 1) / 2) * (isMany ? 40 : 88 / MAX_STACKED)
      return { at: x(alike[0]?.length ?? 0), value, isPassed: alike[0]?.isCompleted === true, count: alike.length }
    })
  })
  const counted = points.filter(({ count }) => count > 1)
  const counts = counted.map(({ at, value, count }) => markText(at, value, `× ${numberText(count)}`, ' at-end'))
  return html`${under}${resultDots(place, points)}${soFar}${counts}`
}

/** Of a dot and the space around it, in per cent of a picture. */
const DOT_WIDTH = 2.6
const MAX_STACKED = 12
/** More locks are too many for a dot each. */
const MAX_DRAWN = 60

/** Of the dots of a template, or of bands. */
function lengthsLegend(viewer: Viewer, lengths?: TemplateUse['lengths']): readonly LegendItem[] {
  const marks: readonly LegendItem[] =
    lengths === undefined || lengths.length > MAX_DRAWN
      ? [
          ['filled', 'Median length'],
          ['spread', '10th to 90th percentile'],
        ]
      : [
          ['filled', `A lock, ${stateName('completed', viewer).toLowerCase()}`],
          ...(lengths.some(({ isCompleted }) => !isCompleted) ? ([['hollow', 'Not completed']] as const) : []),
        ]
  return [...marks, ['usual', 'Planned']]
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
  const latest = entries.slice(0, MAX_DRAWN).map(entry => entry.id)
  const locks = (await someLocks(store, access, latest, until)).toSorted((a, b) => a.at - b.at)
  const rows = (await someLocks(store, access, ids, until)).map(session => {
    const row = lockRow(session, records.get(session.id))
    return { ...row, ending: row.record && endingOf(session, row.record, record) }
  })
  const person = personOf(viewer, owner)
  const areNamed = rows.some(row => row.record?.name !== record.name)
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
        <div class="charts">${use && lengthsPicture(viewer, use, locks, until)}${card('Rules', html`${facts(shownRules(viewer, record))}${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}</div>
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${lockTable('Locks with this template', visit, rows, areNamed)}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

/** How long its locks lasted, on what is planned. Marks lead to the last ones. */
function lengthsPicture(viewer: Viewer, use: TemplateUse, locks: readonly LockStats[], until: number): Html {
  const known = locks.flatMap(lock => {
    const length = lock.at > until ? undefined : lengthOf(lock, until)
    return length === undefined ? [] : [{ ...lock, length }]
  })
  if (known.length === 0) return nothing
  const axis = axisOf(lengthsOf(use, until))
  const { x, ticks, units } = axis
  const names = ticks.map(
    ({ at, name }, index) =>
      html`<text class="main" x="${percent(at)}">${name}${index === 0 ? ` ${units}` : ''}</text>`,
  )
  return picture({
    id: 'lengths',
    title: 'How long they lasted',
    summary: plannedText(use),
    drawing: html`${lengthMarks(use, axis, until)}<svg class="times" y="100%">${names}</svg>`,
    empty: '',
    legend: lengthsLegend(viewer, use.lengths),
    figures: figuresTable({
      title: 'Figures by lock',
      columns: [
        { title: 'Started', cell: ({ id, at }) => html`<a href="/locks/${id}">${dateTimeText(viewer, at)}</a>` },
        { title: 'Lasted', cell: one => `${durationText(one.length / 1000)}${one.isActive ? ' so far' : ''}` },
        { title: label('lockState'), cell: ({ state }) => stateName(state, viewer) },
      ],
      rows: known,
      placeOf: ({ length }) => [x(length), x(length)],
    }),
  })
}

/** `8 of 12 as long as planned, 3 shorter, 1 longer` */
function plannedText({ record, lengths }: TemplateUse): Part {
  // As locks are said to be late.
  const [low, high] = plannedOf(record)
  const shorter = lengths.filter(({ length }) => low - length >= MINUTE_MS).length
  const longer = lengths.filter(({ length }) => length - high >= MINUTE_MS).length
  return lengths.length === 0
    ? undefined
    : html`<b>${numberText(lengths.length - shorter - longer)} of ${numberText(lengths.length)}</b> as long as planned${shorter > 0 && `, ${numberText(shorter)} shorter`}${longer > 0 && `, ${numberText(longer)} longer`}`
}

function useStats(viewer: Viewer, use: TemplateUse): Html {
  const { last, sessions, completed } = use
  return stats(
    sessions > 0 && mainStat(stateName('completed', viewer), completedText(use), partText(completed, sessions)),
    stat('Median length', medianText(use)),
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
    template.isBreakEnabled && breakPenalty > 0 && ['A break too long', `adds ${durationText(breakPenalty)}`],
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
