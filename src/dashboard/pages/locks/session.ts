import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { patterns } from '../../charts/plane.ts'
import { totalsOf } from '../../../stats/intervals.ts'
import { type LockDetails, lockSession } from '../../../stats/lock-queries.ts'
import { lockTemplate } from '../../../stats/lock-template-queries.ts'
import { readKnownTime } from '../../../stats/known-time.ts'
import { countedUntil } from '../../../stats/status.ts'
import { HIDDEN, isTimeHidden, withoutTime } from '../../text/hidden-time.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { eventLabels, label } from '../../text/labels.ts'
import { personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { card, jsonFile, recordTabs, stat, stats, table } from '../../layout/components.ts'
import { paginate, pageNumber, RECORD_ROWS, recordTableFoot } from '../../paging.ts'
import {
  ageText,
  dateTime,
  dateTimeText,
  durationText,
  futureMark,
  NONE,
  numberText,
  timeSpan,
} from '../../text/text.ts'
import { timeline } from './timeline.ts'
import { breaksText, lockNow, missingEnd, plannedEndDistance } from './time.ts'
import { knownEnd, lockText, plannedLength, practiceMark, stateMark, stateName } from './states.ts'

export const lockSessionPages: readonly DashboardPage[] = [
  { section: 'locks', reads: 'record', area: 'lkbx', path: '/locks/:id', handler: showSession },
]

async function showSession(visit: Visit) {
  const { store, pageAccess, id, now } = visit
  const { viewer, session } = await findSession(visit)
  const until = countedUntil(viewer.asOf, now)
  const { owner, record, document, template } = session
  pageAccess.note('lkbx', owner)
  const isHidden = isTimeHidden(viewer, owner, session)
  const shownJson = isHidden ? withoutTime(document) : document
  const file = jsonFile(visit, `lock-session-${id}`, shownJson)
  if (file !== undefined) return file
  const used = template === null ? undefined : await lockTemplate(store, pageAccess.ofAll('lock_template'), template)
  if (used !== undefined) pageAccess.note('lkbx', used.owner)
  return view({
    owner,
    asOf: viewer.asOf,
    title: recordName(viewer, 'lock', record),
    back: visit.sectionStart,
    lead: html`${stateMark(viewer, record.lockState, record.isActive)}${practiceMark(session.rules)} ${timesText(
      viewer,
      session,
      { until, now },
    )}${futureMark(viewer, now, session.at, session.endAt)}${session.endAt === null && session.at <= until ? html` · ${lockNow(viewer, session, { until, now })}` : nothing}${used === undefined ? nothing : html` · Template: <a href="/lock-templates/${used.record.id}">${recordName(viewer, 'lockTemplate', used.record)}</a>`}${
      owner === viewer.subject.id ? nothing : ` · ${personName(viewer, personOf(viewer, owner))}`
    }`,
    body: html`
      ${sessionStats(viewer, session, used?.record, until)}
      ${recordTabs(visit, {
        apiPath: `/api/v1/lkbx/sessions/${record.id}`,
        json: shownJson,
        summary: () => html`
          ${patterns}${timeline(viewer, session, until)}
          ${card('Events', eventTable(visit, session), { id: 'events' })}
        `,
        facts: recordFacts(viewer, session, isHidden),
      })}
    `,
  })
}

/** The session, and the viewer with the time up to which the records of its owner are known. */
async function findSession({ store, viewer, pageAccess, id, now }: Visit) {
  const access = pageAccess.ofAll('lock_session')
  const session = await lockSession(store, access, id, countedUntil(viewer.asOf, now))
  if (session === undefined) throw notFound('Lock session')
  if (session.owner === viewer.subject.id) return { viewer, session }
  const { asOf } = await readKnownTime(store, viewer.session.accountId, session.owner, now)
  const known = await lockSession(store, access, id, countedUntil(asOf, now))
  return { viewer: { ...viewer, asOf }, session: known ?? session }
}

/** From when to when the session was, as far as that is known. */
function timesText(
  viewer: Viewer,
  { record, endAt }: LockDetails,
  { until, now }: { readonly until: number; readonly now: number },
): Part {
  const started = Date.parse(record.startDate)
  const start = dateTime(viewer, started)
  if (endAt === null) return started > until ? start : html`${start} – ${presentText(viewer, until, now)}`
  const ended = knownEnd({ at: started, endAt })
  return ended === null ? html`${start}, end not known` : timeSpan(viewer, started, ended)
}

/** The end of what is known of a running session. */
function presentText(viewer: Viewer, until: number, now: number): Part {
  return until === now ? 'now' : html`${dateTime(viewer, until)}${ageText(viewer, now)}`
}

function sessionStats(viewer: Viewer, session: LockDetails, template: LockTemplate | undefined, until: number): Html {
  const { record, intervals, endAt } = session
  const { locked, open, longest } = totalsOf(intervals)
  const at = Date.parse(record.startDate)
  const ended = knownEnd({ at, endAt })
  const planned = record.duration === 0 ? undefined : `planned: ${durationText(record.duration)}`
  return stats(
    stat(stateName('locked', viewer), intervals.length === 0 ? NONE : durationText(locked / 1000)),
    intervals.length === 0
      ? stat('Open', NONE)
      : stat('Open', durationText(open / 1000), breaksText(session, viewer.discreet ? undefined : template)),
    stat(lockText('Longest locked stretch', viewer), locked === 0 ? NONE : durationText(longest / 1000)),
    endAt === null
      ? plannedEndStat(viewer, session, until)
      : ended === null
        ? stat(stateName(record.lockState, viewer), NONE, planned)
        : stat(`${stateName(record.lockState, viewer)} after`, durationText((ended - at) / 1000), planned),
  )
}

function plannedEndStat(viewer: Viewer, session: LockDetails, until: number): Html {
  const missing = missingEnd(viewer, session, session.owner)
  if (missing !== undefined) return stat('Planned end', missing === HIDDEN ? 'Hidden' : NONE)
  return stat('Planned end', plannedEndDistance(session, until), dateTimeText(viewer, session.plannedEnd ?? 0))
}

function eventTable({ viewer, path, query }: Visit, { events }: LockDetails): Html {
  if (events.length === 0) return html`<p class="muted">This session has no events.</p>`
  const rows = events.map(([at, locked, kind], index) => ({
    at,
    locked: locked === 1,
    kind,
    before: events[index - 1]?.[0],
  }))
  const paged = paginate(rows, pageNumber(query), RECORD_ROWS)
  return html`${table(
    'Events',
    [
      { title: 'When', line: 'first', cell: ({ at }) => html`<span class="nowrap">${dateTimeText(viewer, at)}</span>` },
      {
        title: 'Event',
        line: 'second',
        cell: ({ kind }) => lockText(eventLabels[kind] ?? (kind === '' ? 'Unknown' : kind), viewer),
      },
      { title: 'From then on', line: 'first', cell: ({ locked }) => (locked ? stateName('locked', viewer) : 'Open') },
      {
        title: 'Since the event before',
        numeric: true,
        line: 'second',
        unit: ' later',
        cell: ({ at, before }) => (before === undefined ? '' : durationText((at - before) / 1000)),
      },
    ],
    paged.rows,
  )}${recordTableFoot(path, query, paged, 'events')}`
}

function recordFacts(viewer: Viewer, session: LockDetails, isHidden: boolean) {
  const { record, owner, template, at } = session
  return [
    [label('id'), record.id],
    [label('bubbleId'), html`<code>${record.bubbleId}</code>`],
    [label('publicId'), html`<code>${record.publicId}</code>`],
    [label('ownerId'), personName(viewer, personOf(viewer, owner))],
    [label('name'), recordName(viewer, 'lock', record)],
    [label('lockState'), stateName(record.lockState, viewer)],
    ...(isHidden ? [] : [['Planned length', plannedLength(record.duration)] as const]),
    [label('isActive'), record.isActive ? 'Yes' : 'No'],
    [label('startDate'), dateTimeText(viewer, Date.parse(record.startDate))],
    [
      record.isActive ? 'Planned end' : label('endDate'),
      (record.isActive ? missingEnd(viewer, session, owner) : undefined) ??
        (Date.parse(record.endDate ?? '') >= at ? dateTimeText(viewer, Date.parse(record.endDate ?? '')) : NONE),
    ],
    [label('createdAt'), record.createdAt === undefined ? NONE : dateTimeText(viewer, Date.parse(record.createdAt))],
    [label('LockSegment'), numberText(record.LockSegment.length)],
    ['Template', template ?? NONE],
  ] as const
}
