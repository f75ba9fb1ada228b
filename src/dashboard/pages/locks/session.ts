import { notFound } from '../../../contract/errors.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contract/time.ts'
import { patterns } from '../../charts/plane.ts'
import { breaksOf, totalsOf } from '../../../stats/intervals.ts'
import { type LockDetails, lockSession } from '../../../stats/lock-queries.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { lockTemplates } from '../../../stats/lock-template-queries.ts'
import { readKnownTime, countedUntil } from '../../../stats/known-time.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { ofWhom, personName, personOf, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { mainStat, recordTabs, stat, stats, TYPED, dotted } from '../../layout/components.ts'
import {
  ageText,
  countText,
  dateTime,
  dateTimeText,
  durationText,
  minutesText,
  futureMark,
  NONE,
  numberText,
  timeSpan,
} from '../../text/text.ts'
import { recordSteps } from '../area.ts'
import { lengthText } from './templates.ts'
import { timeline } from './timeline.ts'
import {
  breaksText,
  type Clock,
  endAhead,
  endingOf,
  latenessText,
  lockState,
  lockTime,
  plannedEndStat,
  progressBar,
  tickingTime,
} from './time.ts'
import { isTimeHidden, knownEnd, lockText, practiceMark, stateName, withoutTime } from './states.ts'

export const lockSessionPages: readonly DashboardPage[] = [
  { section: 'locks', reads: 'record', area: 'lkbx', path: '/locks/:id', handler: showSession },
]

async function showSession(visit: Visit) {
  const { store, pageAccess, now } = visit
  const { viewer, session } = await findSession(visit)
  const until = countedUntil(viewer.asOf, now)
  const { owner, record, document, template } = session
  pageAccess.note('lkbx', owner)
  const isHidden = isTimeHidden(viewer, owner, session)
  const shownJson = isHidden ? withoutTime(document) : document
  const used =
    template === null
      ? undefined
      : (await lockTemplates.find(store, pageAccess.ofAll('lock_template'), [template])).get(template)
  if (used !== undefined) pageAccess.note('lkbx', used.owner)
  // Discreet mode hides rules.
  const shown = viewer.discreet ? undefined : used?.record
  const ending = used && endingOf(session, record, used.record)
  const lateness = latenessText(ending?.late)
  const lateBreaks = viewer.discreet ? 0 : (ending?.lateBreaks ?? 0)
  const isRunning = record.isActive && session.at <= until
  const state = isRunning ? lockState(viewer, session, owner, until) : stateName(record.lockState, viewer)
  const notes = [!isRunning && lateness, lateBreaks > 0 && countText(lateBreaks, 'late break')]
  const { entries } = await lockHistory(store, pageAccess.sessions('lkbx', owner))
  const name = recordName(viewer, 'lock', record)
  return view({
    owner,
    asOf: viewer.asOf,
    title: name,
    back: visit.sectionStart,
    heading: html`${owner === viewer.subject.id && ofWhom(viewer)}${name} <span class="beside">${state}${notes.map(note => typeof note === 'string' && `, ${note}`)}</span>`,
    lead: dotted(
      html`${timesText(viewer, session, { until, now })}${futureMark(viewer, now, session.at, session.endAt)}${practiceMark(session.rules)}${session.isTyped ? TYPED : nothing}`,
      used === undefined
        ? nothing
        : html`Template <a href="/lock-templates/${used.record.id}">${recordName(viewer, 'lockTemplate', used.record)}</a>`,
      owner === viewer.subject.id ? nothing : personName(viewer, personOf(viewer, owner)),
    ),
    actions: recordSteps(visit, entries.toReversed(), 'Locks'),
    body: recordTabs(visit, {
      owner,
      apiPath: `/api/v1/lkbx/sessions/${record.id}`,
      json: shownJson,
      summary: () => html`
        ${sessionStats(viewer, session, shown, { until, now })}
        ${patterns}${timeline(viewer, session, shown, session.isActive ? endAhead(viewer, session, owner, until) : undefined, { until, now })}
      `,
    }),
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
function timesText(viewer: Viewer, { record, endAt }: LockDetails, { until, now }: Clock): Part {
  const started = Date.parse(record.startDate)
  const start = dateTime(viewer, started)
  if (endAt === null && started > until) return start
  // On paper, when that was.
  const current =
    until === now ? html`<time title="${dateTimeText(viewer, now)}, so far">now</time>` : dateTime(viewer, until)
  if (endAt === null) return html`${start} – ${current}${ageText(viewer, now)}`
  const ended = knownEnd({ at: started, endAt })
  return ended === null ? html`${start}, end not known` : timeSpan(viewer, started, ended)
}

function sessionStats(viewer: Viewer, session: LockDetails, template: LockTemplate | undefined, clock: Clock): Html {
  const { record, intervals, endAt } = session
  const { locked, longest } = totalsOf(intervals)
  const at = Date.parse(record.startDate)
  const ended = knownEnd({ at, endAt })
  const lasted = ended === null ? NONE : durationText((ended - at) / 1000)
  const length = record.duration === 0 ? NONE : durationText(record.duration)
  const planned = template?.isRandomDuration === true ? lengthText(template) : length
  const rest = locked < DAY_MS ? 0 : locked % HOUR_MS
  const exact = `${durationText((locked - rest) / 1000)}${rest < MINUTE_MS ? '' : `\u00a0${minutesText(rest)}`}`
  const time = intervals.length === 0 ? undefined : `${exact} ${lockText('locked', viewer)}`
  return stats(
    endAt === null
      ? mainStat(
          'So far',
          tickingTime(session.at, clock),
          html`${progressBar(session, endAhead(viewer, session, session.owner, clock.until), clock)}${dotted(time, lockTime(session, clock))}`,
        )
      : mainStat('Lasted', lasted, time),
    intervals.length === 0
      ? stat('Breaks', NONE)
      : stat('Breaks', numberText(breaksOf(intervals).count), breaksText(intervals, template)),
    stat('Longest stretch', locked === 0 ? NONE : minutesText(longest, true)),
    endAt === null ? plannedEndStat(viewer, session, session.owner, clock.until) : stat('Planned', planned),
  )
}
