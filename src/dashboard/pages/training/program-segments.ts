import { isCounted, type TemplateSegment, type TrainingTemplate } from '../../../contract/training-templates.ts'
import { chart, type ChartColumn } from '../../charts/charts.ts'
import { label } from '../../text/labels.ts'
import { kindName } from '../../text/names.ts'
import type { Chart, Viewer } from '../../page.ts'
import { drawnSeconds, REPETITION_SECONDS, segmentText } from '../../charts/program-strip.ts'
import { countText, durationText, NONE, numberText } from '../../text/text.ts'

/** The segments of a program. Columns that none of them has are left out. */
export function segmentsChart(viewer: Viewer, { Segment }: TrainingTemplate): Chart {
  const has = (field: keyof TemplateSegment) => Segment.some(segment => segment[field] !== undefined)
  return chart<NumberedSegment>({
    id: 'segments',
    chartType: 'segments',
    title: 'Segments',
    summary: segmentsSummary(Segment),
    empty: 'No segments',
    legend: has('passFailEnabled')
      ? [
          ['solid', 'Pass or fail'],
          ['approximate', 'No pass or fail'],
        ]
      : [],
    columns: [
      ...lengthColumns(viewer),
      ...drawnColumns(viewer),
      ...(has('speed') ? [SPEED] : []),
      GRADED,
      ...(has('passGradeThreshold') ? [THRESHOLD] : []),
      ...(has('failureText') && !viewer.discreet ? [FAILURE_TEXT] : []),
    ],
    rows: Segment.map((segment, index) => ({ ...segment, position: index + 1 })),
  })
}

interface NumberedSegment extends TemplateSegment {
  readonly position: number
}

function lengthColumns(viewer: Viewer): ChartColumn<NumberedSegment>[] {
  return [
    { title: 'Position', numeric: true, cell: ({ position }) => position },
    { key: 'label', title: label('type'), cell: ({ type }) => kindName(viewer, type) },
    {
      title: 'Time',
      numeric: true,
      cell: ({ type, duration }) => (isCounted(type) ? NONE : durationText(duration)),
    },
    {
      title: 'Repetitions',
      numeric: true,
      cell: ({ type, duration }) => (isCounted(type) ? numberText(duration) : NONE),
    },
    {
      key: 'repeat',
      title: label('repeat'),
      numeric: true,
      cell: ({ repeat }) => `${numberText(repeat)} ×`,
      value: ({ repeat }) => repeat,
    },
  ]
}

/** What the strip is drawn from. */
function drawnColumns(viewer: Viewer): ChartColumn<NumberedSegment>[] {
  return [
    { key: 'width', title: '', isDrawnOnly: true, cell: drawnSeconds, value: drawnSeconds },
    { key: 'text', title: '', isDrawnOnly: true, cell: segment => segmentText(viewer, segment) },
  ]
}

const SPEED: ChartColumn<NumberedSegment> = {
  title: label('speed'),
  numeric: true,
  cell: ({ speed }) => speed ?? NONE,
}

const GRADED: ChartColumn<NumberedSegment> = {
  key: 'graded',
  title: label('passFailEnabled'),
  cell: ({ passFailEnabled }) => (passFailEnabled === undefined ? 'Not known' : passFailEnabled ? 'Yes' : 'No'),
  value: ({ passFailEnabled }) => (passFailEnabled === false ? 0 : 1),
}

const THRESHOLD: ChartColumn<NumberedSegment> = {
  title: label('passGradeThreshold'),
  numeric: true,
  cell: ({ passFailEnabled, passGradeThreshold }) =>
    passFailEnabled === false || passGradeThreshold === undefined ? NONE : `${passGradeThreshold}\u00a0%`,
}

const FAILURE_TEXT: ChartColumn<NumberedSegment> = {
  title: label('failureText'),
  cell: ({ failureText }) => failureText ?? NONE,
}

function segmentsSummary(segments: readonly TemplateSegment[]): string {
  if (segments.length === 0) return 'This program has no segments.'
  let seconds = 0
  let reps = 0
  let runs = 0
  for (const { type, duration, repeat } of segments) {
    const times = Math.max(1, repeat)
    runs += times
    if (isCounted(type)) reps += duration * times
    else seconds += duration * times
  }
  const parts = [...(seconds > 0 ? [durationText(seconds)] : []), ...(reps > 0 ? [countText(reps, 'repetition')] : [])]
  const repeated = runs === segments.length ? '' : `, ${numberText(runs)} with repeats`
  const mixed = seconds > 0 && reps > 0 ? ` One repetition is drawn as ${REPETITION_SECONDS} seconds.` : ''
  return `${countText(segments.length, 'segment')}${repeated}: ${parts.join(' and ') || 'of no length'}.${mixed}`
}
