import { notFound } from '../../../contract/errors.ts'
import { percentileOf } from '../../../contract/numbers.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockRecords, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import { latestLocks, lockTemplates, type TemplateUse, withUses } from '../../../stats/lock-template-queries.ts'
import { boxes, linePath, markText, plane, resultDots, type Range } from '../../charts/plane.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contract/time.ts'
import { figuresTable, type LegendItem, legendOf, picture, resultLegend } from '../../charts/picture.ts'
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
import {
  countText,
  dateText,
  dateTimeText,
  durationText,
  NONE,
  numberText,
  partText,
  unbroken,
} from '../../text/text.ts'
import { stateName } from './states.ts'
import { lengthOf, lockRow, lockTable } from './list.ts'
import { inParts, leastNews, strip, timeSince } from '../parts.ts'
import { endingOf } from './time.ts'

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
  const completed = [...latest.values()].flat().map(one => one.completed > 0)
  return view({
    title: 'Lock templates',
    lead: leastNews(
      used.flatMap(({ record, sessions, completed }) => {
        const name = () =>
          html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>`
        return record.isTestLock ? [] : [{ name, done: completed, of: sessions }]
      }),
      ['completed', 'All locks were completed', 'templates'],
    ),
    body:
      all.length === 0
        ? noRecords(
            viewer,
            'No lock templates yet',
            'This page will show the rules that lock sessions start from: how long they last, when breaks are due, and what changes their length.',
          )
        : html`<section class="card" id="sessions">${legendOf(lengthsLegend(viewer, completed))}${table('Lock templates', lockTemplateColumns(viewer, latest), shown.rows)}${tableFoot(path, query, shown)}</section>`,
  })
}

type Latest = Awaited<ReturnType<typeof latestLocks>>

/** The columns of templates; on a page, with drawings of the last locks, the one that was used last is the first. */
export function lockTemplateColumns(viewer: Viewer, latest?: Latest): TableColumn<TemplateUse>[] {
  return [
    {
      title: label('name'),
      line: 'first',
      cell: ({ record, runningSince }) =>
        html`<a href="/lock-templates/${record.id}">${recordName(viewer, 'lockTemplate', record)}</a>${runningSince === undefined ? nothing : html` <span class="state on">In use</span>`}${record.isTestLock ? html` <span class="state">${label('isTestLock')}</span>` : nothing}<div class="small muted">${lengthText(record)} planned</div>`,
    },
    ...(latest === undefined
      ? []
      : [{ title: 'Last ten lengths', line: 'second', cell: (use: TemplateUse) => latestMarks(use, latest) } as const]),
    { title: 'Median length', numeric: true, line: 'second', before: 'median ', cell: medianText },
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

/** Two lines leave it out. */
const NO_LOCKS = html`<span class="zero">${NONE}</span>`

/** `8 of 12` that ended. */
function completedText({ sessions, completed }: TemplateUse): Part {
  return sessions === 0 ? NO_LOCKS : unbroken(`${numberText(completed)} of ${numberText(sessions)}`)
}

function medianText({ lengths }: TemplateUse): Html {
  const all = lengths.map(({ length }) => length)
  const median = percentileOf(0.5, all)
  return median === undefined ? NO_LOCKS : html`<span class="nowrap">${durationText(median / 1000)}</span>`
}

/** The shortest and the longest time that a template plans, in milliseconds. */
function plannedOf({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): Range {
  return isRandomDuration ? [(minDuration ?? 0) * 1000, (maxDuration ?? 0) * 1000] : [duration * 1000, duration * 1000]
}

/** Of how long locks lasted, in a list: dots on a line, on what is planned. */
function latestMarks({ record }: TemplateUse, latest: Latest): Html {
  const locks = latest.get(record.id) ?? []
  const lengths = [...plannedOf(record), ...locks.map(({ length }) => length)]
  const [least, most] = [Math.min(...lengths), Math.max(1, ...lengths)]
  // What differs little is drawn so.
  const space = most / 10
  const y = (length: number) => 90 - ((length - least + space) * 80) / (most - least + 2 * space)
  const place = { x: (at: number) => 2 + at * 9, y }
  const points = locks.map(({ length, completed }, at) => ({ at, value: length, isPassed: completed > 0 }))
  const last = points.at(-1)
  const text = last && markText(place.x(last.at) + 2, y(last.value), durationText(last.value / 1000), ' at-end')
  return strip(html`${plannedBand(record, y)}${linePath('line', place, points)}${resultDots(place, points)}${text}`, 48)
}

/** What is planned, from the left to the right. */
function plannedBand(record: LockTemplate, y: (length: number) => number): Html {
  const [least, most] = plannedOf(record)
  return boxes('usual', [{ x: [0, 100], y: [y(most) - 4, y(least) + 4] }])
}

/** More locks are too many for a dot each. */
const MAX_DRAWN = 60

function lengthsLegend(viewer: Viewer, completed: readonly boolean[]): readonly LegendItem[] {
  return [...resultLegend(completed, [stateName('completed', viewer), 'Not completed']), ['usual', 'Planned']]
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
        <div class="charts">${use && lengthsPicture(visit, use, locks, until)}${card('Rules', html`${facts(shownRules(viewer, record))}${viewer.discreet ? html`<p class="muted">The other rules are not shown while names are hidden.</p>` : nothing}`, { id: 'rules' })}</div>
        ${card('Locks with this template', rows.length === 0 ? html`<p class="muted">No lock has started from this template.</p>` : html`${lockTable('Locks with this template', visit, rows, areNamed)}${tableFoot(path, query, shown)}`, { id: 'sessions' })}
      `,
    }),
  })
}

/** How long the last of its locks lasted, on what is planned. */
function lengthsPicture({ viewer, now }: Visit, use: TemplateUse, locks: readonly LockStats[], until: number): Html {
  const known = locks.flatMap(lock => {
    const length = lock.at > until ? undefined : lengthOf(lock, until)
    return length === undefined ? [] : [{ ...lock, length }]
  })
  if (known.length === 0) return nothing
  const lengths = [...plannedOf(use.record), ...known.map(({ length }) => length)]
  const most = Math.max(1, ...lengths)
  const unit = [DAY_MS, HOUR_MS].find(length => most > 2 * length) ?? MINUTE_MS
  const units = unit === DAY_MS ? 'days' : unit === HOUR_MS ? 'hours' : 'minutes'
  const low = Math.max(0, Math.floor(Math.min(...lengths) / unit) - 1)
  const { parts } = inParts(timeSince(known, now, viewer), now, viewer)
  const { x, y, axes } = plane(viewer, parts, { values: [low, most / unit], isNice: true, text: numberText })
  const points = known.map(({ at, length, state, isActive }) => {
    return { at, value: length / unit, isPassed: state === 'completed', isCurrent: isActive }
  })
  const running: LegendItem[] = known.some(({ isActive }) => isActive) ? [['running', 'So far']] : []
  const ended = points.flatMap(({ isCurrent, isPassed }) => (isCurrent ? [] : [isPassed]))
  return picture({
    id: 'lengths',
    title: `How long ${known.length < MAX_DRAWN ? 'they' : `the last ${MAX_DRAWN}`} lasted, in ${units}`,
    summary: plannedText(use),
    drawing: html`${axes}${plannedBand(use.record, length => y(length / unit))}${resultDots({ x, y }, points)}`,
    empty: '',
    legend: [...lengthsLegend(viewer, ended), ...running],
    figures: figuresTable({
      title: 'Figures by lock',
      columns: [
        { title: 'Started', cell: ({ id, at }) => html`<a href="/locks/${id}">${dateTimeText(viewer, at)}</a>` },
        { title: 'Lasted', cell: one => `${durationText(one.length / 1000)}${one.isActive ? ' so far' : ''}` },
        { title: label('lockState'), cell: ({ state }) => stateName(state, viewer) },
      ],
      rows: known,
      placeOf: ({ at }) => [x(at), x(at)],
    }),
  })
}

/** `8 locks as long as planned, 3 shorter, 1 longer` */
function plannedText({ record, lengths }: TemplateUse): Part {
  // As locks are said to be late.
  const [low, high] = plannedOf(record)
  const shorter = lengths.filter(({ length }) => low - length >= MINUTE_MS).length
  const longer = lengths.filter(({ length }) => length - high >= MINUTE_MS).length
  return lengths.length === 0
    ? undefined
    : html`<b>${countText(lengths.length - shorter - longer, 'lock')}</b> as long as planned${shorter > 0 && `, ${numberText(shorter)} shorter`}${longer > 0 && `, ${numberText(longer)} longer`}`
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

export function lengthText({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): string {
  return isRandomDuration
    ? `${durationText(minDuration ?? 0)} to ${durationText(maxDuration ?? 0)}`
    : durationText(duration)
}
