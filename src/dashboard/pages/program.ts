import { notFound } from '../../contract/errors.ts'
import type { TrainingTemplate } from '../../contract/training-templates.ts'
import { findProgram, type ListedProgram } from '../../stats/program-queries.ts'
import { trainingHistory } from '../../stats/training-history.ts'
import type { SessionStats } from '../../stats/training.ts'
import { chartCards } from '../charts/charts.ts'
import { card, jsonFile, emptyState, facts, recordTabs, table } from '../layout/components.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { label } from '../text/labels.ts'
import { freeText, personName, recordName } from '../text/names.ts'
import { view, type Viewer, type Visit } from '../page.ts'
import { countText, dateTimeText, NONE, numberText } from '../text/text.ts'
import { timeOf } from './chart-unit.ts'
import { segmentsChart } from './program-segments.ts'
import { gradeChart } from './training-charts.ts'
import { percentText } from './training-summaries.ts'
import { sessionColumns } from './training-table.ts'

export async function showProgram(visit: Visit) {
  const { store, viewer, pageAccess, id, now } = visit
  const found = await findProgram(store, pageAccess.ofAll('training_template'), id)
  if (found === undefined) throw notFound('Training program')
  const { program, document } = found
  pageAccess.note('dtt', program.ownerId)
  const file = jsonFile(visit, `program-${id}`, document)
  if (file !== undefined) return file
  const history = await trainingHistory(store, pageAccess.sessions('dtt'))
  const selection = await history.select({ program: id })
  const { sessions } = selection
  const shown = timeOf(sessions, now, viewer)
  const summary = await history.summary(selection, shown.periods)
  const owner = viewer.readable.find(({ id }) => id === program.ownerId)
  const tagline = freeText(viewer, program.tagline)
  const [first] = sessions
  const charts = [
    segmentsChart(viewer, program),
    ...(first === undefined ? [] : [gradeChart(viewer, { ...shown, sessions, summary, now })]),
  ]
  return view({
    owner: program.ownerId,
    title: recordName(viewer, 'program', program),
    back: visit.home,
    ...(tagline === '' ? {} : { lead: tagline }),
    charts,
    body: recordTabs(visit, {
      apiPath: `/api/v1/dtt/templates/${program.id}`,
      json: document,
      summary: () => html`
        ${card('Facts', programFacts(viewer, program))}
        ${chartCards(visit, charts)}
        ${sessionsWith(visit, program, sessions, summary.totals.passed)}
      `,
      facts: [
        [label('id'), program.id],
        [label('bubbleId'), html`<code>${program.bubbleId}</code>`],
        [label('toyId'), program.toyId ?? 'None set'],
        ...(owner === undefined ? [] : [[label('ownerId'), personName(viewer, owner)] as const]),
      ],
    }),
  })
}

function programFacts(viewer: Viewer, program: TrainingTemplate): Html {
  const texts = (['description', 'message'] as const).flatMap(field => {
    const text = freeText(viewer, program[field])
    return text === '' ? [] : [[label(field), text] as const]
  })
  const deviceLine = freeText(viewer, program.toyTagline)
  return facts([
    ...texts,
    ['State', stateMarks(program)],
    [label('handsFreeMode'), program.handsFreeMode ? 'Yes' : 'No'],
    [label('targetDepth'), numberText(program.targetDepth)],
    [label('targetWindow'), `± ${numberText(program.targetWindow)}`],
    ...(deviceLine === '' ? [] : [[label('toyTagline'), deviceLine] as const]),
    [label('createdDate'), dateTimeText(viewer, Date.parse(program.createdDate))],
    [label('updatedAt'), dateTimeText(viewer, Date.parse(program.updatedAt))],
  ])
}

const MAX_LISTED_SESSIONS = 10

function sessionsWith(
  visit: Visit,
  program: TrainingTemplate,
  sessions: readonly SessionStats[],
  passed: number,
): Html {
  if (sessions.length === 0) {
    return emptyState('No sessions with this program yet', 'They will be listed here.')
  }
  const newest = sessions.toReversed().slice(0, MAX_LISTED_SESSIONS)
  return card(
    'Sessions with this program',
    html`
      <p class="summary">${passed} of ${countText(sessions.length, 'session')} passed (${percentText(passed, sessions.length)}).</p>
      ${table('Sessions with this program', sessionColumns(visit, undefined), newest)}
      ${
        sessions.length > newest.length
          ? html`<p><a href="/training?range=all&amp;program=${program.id}">All ${numberText(sessions.length)} sessions with this program</a></p>`
          : nothing
      }
    `,
  )
}

export function stateMarks({ isActive, isPublic }: ListedProgram): Part {
  if (!isActive && !isPublic) return html`<span class="muted">${NONE}</span>`
  return html`<span class="marks">${isActive ? html`<span class="state on">In use</span>` : nothing}${isPublic ? html`<span class="state">Public</span>` : nothing}</span>`
}
