import { notFound } from '../../../contract/errors.ts'
import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { findProgram, type ListedProgram } from '../../../stats/program-queries.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { chartCards } from '../../charts/charts.ts'
import { card, jsonFile, facts, recordTabs } from '../../layout/components.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { freeText, personName, recordName } from '../../text/names.ts'
import { view, type Viewer, type Visit } from '../../page.ts'
import { dateTimeText, NONE, numberText } from '../../text/text.ts'
import { timeOf } from '../chart-unit.ts'
import { programRuns } from './program-runs.ts'
import { segmentsChart } from './program-segments.ts'
import { gradeChart } from './charts.ts'

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
  const [summary, runs] = await Promise.all([
    history.summary(selection, shown.periods),
    programRuns(visit, program, sessions),
  ])
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
    back: visit.sectionStart,
    lead: html`${program.isActive || program.isPublic ? stateMarks(program) : nothing} ${tagline}`,
    charts,
    body: recordTabs(visit, {
      apiPath: `/api/v1/dtt/templates/${program.id}`,
      json: document,
      summary: () => html`
        ${chartCards(visit, charts.slice(0, 1))}
        ${runs}
        ${chartCards(visit, charts.slice(1))}
        ${card('Facts', programFacts(viewer, program))}
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
    [label('handsFreeMode'), program.handsFreeMode ? 'Yes' : 'No'],
    [label('targetDepth'), numberText(program.targetDepth)],
    [label('targetWindow'), `± ${numberText(program.targetWindow)}`],
    ...(deviceLine === '' ? [] : [[label('toyTagline'), deviceLine] as const]),
    [label('createdDate'), dateTimeText(viewer, Date.parse(program.createdDate))],
    [label('updatedAt'), dateTimeText(viewer, Date.parse(program.updatedAt))],
  ])
}

export function stateMarks({ isActive, isPublic }: ListedProgram): Part {
  if (!isActive && !isPublic) return html`<span class="muted">${NONE}</span>`
  return html`<span class="marks">${isActive ? html`<span class="state on">In use</span>` : nothing}${isPublic ? html`<span class="state">Public</span>` : nothing}</span>`
}
