import { trainingBests, type TrainingBests } from '../../stats/bests.ts'
import { keptLongestLock } from '../../stats/kept-longest-lock.ts'
import { countedUntil } from '../../stats/status.ts'
import { allTrainings } from '../../stats/training-rows.ts'
import { card, emptyState, facts } from '../components.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { kindName } from '../names.ts'
import { type Page, view, type Viewer, type Visit } from '../page.ts'
import { countText, dateText, durationText, numberText, unbroken } from '../text.ts'
import { lockText } from './lock-states.ts'

/** The highest values, each with a link to where it comes from. */
export const bestPages: readonly Page[] = [{ path: '/bests', handler: showBests }]

async function showBests(visit: Visit) {
  const { store, viewer, now, pageAccess } = visit
  const until = countedUntil(viewer.asOf, now)
  const [sessions, longest] = await Promise.all([
    allTrainings(store, pageAccess.sessions('dtt')),
    keptLongestLock(store, pageAccess.sessions('lkbx'), until),
  ])
  const bests = await trainingBests(sessions, viewer.timeZone, now)
  const rows = [
    ...trainingRows(bests),
    ...(longest === undefined
      ? []
      : [
          row(
            lockText('Longest locked stretch', viewer),
            durationText(longest.seconds),
            `/locks/${longest.session.id}`,
            dateText(viewer, longest.session.at),
          ),
        ]),
  ]
  return view({
    section: 'training',
    title: 'Bests',
    back: { path: '/training', title: 'Training' },
    lead:
      viewer.subject.id === viewer.session.accountId
        ? 'Over all known records.'
        : 'Over all records that are shared with you.',
    body:
      rows.length === 0 && bests.grades.length === 0
        ? emptyState(
            'No bests yet',
            lockText(
              'This page will show the highest grades, the longest streak and the longest locked stretch.',
              viewer,
            ),
          )
        : html`
            ${rows.length === 0 ? nothing : card('Overall', facts(rows))}
            ${bests.grades.length === 0 ? nothing : card('Best grade by kind', facts(gradeRows(viewer, bests)))}
          `,
  })
}

/** The bests of training, for the overview. */
export function bestsCard(bests: TrainingBests): Html {
  const rows = trainingRows(bests)
  if (rows.length === 0) return nothing
  return card('Bests', facts(rows), { actions: html`<a href="/bests">All bests</a>` })
}

function trainingRows({ week, current, longest }: TrainingBests): (readonly [string, Html])[] {
  const days = ({ from, to }: { from: string; to: string }) => `/training?from=${from}&to=${to}`
  return [
    ...(week === undefined
      ? []
      : [
          row(
            'Most repetitions in a week',
            numberText(week.reps),
            days(week),
            `week of ${unbroken(dayText(week.from))}`,
          ),
        ]),
    ...(current === undefined
      ? []
      : [row('Current streak', countText(current.days, 'day'), days(current), `since ${dayText(current.from)}`)]),
    ...(longest === undefined
      ? []
      : [row('Longest streak', countText(longest.days, 'day'), days(longest), `until ${dayText(longest.to)}`)]),
  ]
}

function gradeRows(viewer: Viewer, { grades }: TrainingBests): (readonly [string, Html])[] {
  return grades.map(({ kind, grade, session }) =>
    row(kindName(viewer, kind), `${grade}\u00a0%`, `/training/${session.id}`, dateText(viewer, session.at)),
  )
}

function row(name: string, value: Part, to: string, when: string): readonly [string, Html] {
  return [name, html`<a href="${to}">${value}</a> <small class="muted">${when}</small>`]
}

function dayText(date: string): string {
  return dateText({ timeZone: 'UTC' }, Date.parse(date))
}
