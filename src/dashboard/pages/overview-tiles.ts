import type { LockSession } from '../../contract/lock-sessions.ts'
import type { LockStats } from '../../stats/lock-queries.ts'
import { countedUntil } from '../../stats/status.ts'
import { compareWeeks, passRate, sessionsBetween, type SessionStats, type Totals } from '../../stats/training.ts'
import { resultMark } from '../layout/components.ts'
import { HIDDEN, isTimeHidden } from '../text/hidden-time.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { recordName } from '../text/names.ts'
import type { Viewer, Visit } from '../page.ts'
import { lastDays, presets, timeOfDays } from '../text/period.ts'
import { programLink, type Programs } from '../text/program-names.ts'
import { sparkLine } from '../charts/spark.ts'
import { ageText, countText, dateTime, distanceText, durationText, NONE, numberText, timeAgo } from '../text/text.ts'
import { NOT_SHARED } from '../layout/subject-notes.ts'
import { plannedEndText, tickingTime, timeBar } from './lock-time.ts'
import { knownEnd, practiceMark, stateName } from './lock-states.ts'
import { percentText } from './training-summaries.ts'

export function lastSession({ viewer, now }: Visit, newest: readonly SessionStats[], programs: Programs): Html {
  const [last] = newest
  if (last === undefined) {
    return tile('Last session', html`<p class="muted">No training session yet. The newest one will be shown here.</p>`)
  }
  const grades = newest.toReversed()
  return tile(
    'Last session',
    html`
      <p class="big">${last.grade === null ? NONE : html`${last.grade}<small>\u00a0%</small>`}</p>
      <p>${resultMark(last.passed)}</p>
      <p class="muted">${programLink(programs, last.program)}, ${timeAgo(viewer, last.at, now)}</p>
      ${sparkLine(grades)}
      <p class="small"><a href="/training/${last.id}">Open session</a></p>
    `,
  )
}

export function thisWeek(viewer: Viewer, sessions: readonly SessionStats[], now: number): Html {
  const { current, before } = compareWeeks(sessions, now, viewer.timeZone)
  const distance = ({ distance }: Totals) => (distance === null ? NONE : distanceText(viewer, distance))
  const rows: readonly (readonly [string, (totals: Totals) => Part])[] = [
    ['Sessions', ({ sessions }) => numberText(sessions)],
    ['Repetitions', ({ reps }) => numberText(Math.round(reps))],
    ['Distance', distance],
    ['Grade', ({ grade }) => (grade === null ? NONE : `${grade}\u00a0%`)],
  ]
  return tile(
    'This week so far',
    html`
      <table class="compact comparison">
        <thead><tr><th scope="col"><span class="hidden">Figure</span></th><th scope="col" class="number">So far</th><th scope="col" class="number">Usual</th></tr></thead>
        <tbody>${rows.map(
          ([name, value]) =>
            html`<tr><th scope="row">${name}</th><td class="number strong">${value(current)}</td><td class="number muted">${before === null ? NONE : value(before)}</td></tr>`,
        )}</tbody>
      </table>
      <p class="muted small">${before === null ? 'No session in the four weeks before.' : 'Usual: the weekly average of the four weeks before.'}</p>
    `,
  )
}

export function fourWeeks({ timeZone }: Viewer, sessions: readonly SessionStats[], now: number): Html {
  const { from, to } = timeOfDays(lastDays(presets['4w'], now, timeZone), timeZone)
  const { passed, total } = passRate(sessionsBetween(sessions, from, to))
  return tile(
    'Pass rate, 28 days',
    total === 0
      ? html`<p class="muted">No session in the last 28 days, so there is no rate.</p>`
      : html`
          <p class="big">${passed}<small> / ${total}</small></p>
          <p class="muted">${countText(total, 'session')}, ${percentText(passed, total)} passed</p>
          ${share(passed / total, `${percentText(passed, total)} passed`)}
          <p class="small"><a href="/training?range=4w">Training, 28 days</a></p>
        `,
  )
}

/** A bar out of the whole. */
function share(part: number, name: string): Html {
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${name}"><rect class="whole" width="100" height="8"/><rect class="part" width="${(part * 100).toFixed(1)}" height="8"/></svg>`
}

type Active = LockStats & { readonly document: string }

export function lockCard({ viewer, now }: Visit, current: Active | undefined, newest: readonly LockStats[]): Html {
  const [last] = newest
  if (current !== undefined) {
    // The archive wrote it in the form of the contract.
    const { id, name } = JSON.parse(current.document) as LockSession
    const changed = current.intervals.at(-1)?.start
    const until = countedUntil(viewer.asOf, now)
    const isHidden = isTimeHidden(viewer, viewer.subject.id, current)
    return tile(
      'Lock',
      html`
        <p class="big word">${stateName(current.state, viewer)}<small>${changed === undefined ? nothing : html` for ${tickingTime(changed, { until, now })}`}${ageText(viewer, now)}</small></p>
        <p class="muted"><a href="/locks/${id}">${recordName(viewer, 'lock', { id, name })}</a>${practiceMark(current.rules)}</p>
        <dl class="lines">
          <div><dt>Since</dt><dd>${changed === undefined ? NONE : dateTime(viewer, changed)}</dd></div>
          <div><dt>Running for</dt><dd>${tickingTime(current.at, { until, now })}</dd></div>
          <div><dt>Planned end</dt><dd>${isHidden ? HIDDEN : plannedEndText(viewer, current, until)}</dd></div>
        </dl>
        ${isHidden ? nothing : timeBar(current, { until, now })}
      `,
    )
  }
  if (last === undefined) {
    return tile('Lock', html`<p class="muted">No lock session yet. A running one will be shown here.</p>`)
  }
  const endAt = knownEnd(last)
  return tile(
    'Lock',
    html`
      <p class="big word">Open</p>
      <p class="muted">No lock session is running${ageText(viewer, now)}.</p>
      <dl class="lines">
        <div><dt>Last ended</dt><dd>${endAt === null ? NONE : timeAgo(viewer, endAt, now)}</dd></div>
        <div><dt>It lasted</dt><dd>${endAt === null ? NONE : durationText((endAt - last.at) / 1000)}</dd></div>
      </dl>
      <p class="small"><a href="/locks/${last.id}">Last lock session</a></p>
    `,
  )
}

/** In place of tiles of an area that somebody else does not share. */
export function tileNotShared(title: string): Html {
  return tile(title, html`<p class="muted">${NOT_SHARED}.</p>`)
}

function tile(title: string, body: Html): Html {
  return html`<section class="card tile"><h2>${title}</h2>${body}</section>`
}
