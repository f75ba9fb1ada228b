import { isCounted, type TemplateSegment, type TrainingTemplate } from '../../../contract/training-templates.ts'
import { percent } from '../../charts/plane.ts'
import { figuresTable, MAX_ROWS, picture } from '../../charts/picture.ts'
import { drawnSeconds, REPETITION_SECONDS } from '../../charts/program-strip.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { TableColumn } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { label } from '../../text/labels.ts'
import { kindName } from '../../text/names.ts'
import { countText, durationText, NONE, numberText } from '../../text/text.ts'

/** The segments of a program as one strip, with a table. Columns that none of them has are left out. */
export function segmentsPicture(viewer: Viewer, { Segment }: TrainingTemplate): Html {
  const has = (field: keyof TemplateSegment) => Segment.some(segment => segment[field] !== undefined)
  let end = 0
  const rows = Segment.map((segment, index): PlacedSegment => {
    const start = end
    end += drawnSeconds(segment) * timesOf(segment)
    return { ...segment, position: index + 1, start, end }
  })
  const scale = 100 / Math.max(1, end)
  const columns = [
    ...lengthColumns(viewer),
    ...(has('speed') ? [SPEED] : []),
    GRADED,
    ...(has('passGradeThreshold') ? [THRESHOLD] : []),
    ...(has('failureText') && !viewer.discreet ? [FAILURE_TEXT] : []),
  ]
  return picture({
    id: 'segments',
    title: 'Segments',
    summary: segmentsSummary(Segment),
    plots: [
      {
        drawing: end === 0 ? undefined : stripOf(viewer, rows, scale),
        empty: 'No segments.',
        cells: [1, 2, 3, 4],
        look: 'segments',
      },
    ],
    legend: has('passFailEnabled')
      ? [
          ['solid', 'Pass or fail'],
          ['approximate', 'No pass or fail'],
        ]
      : [],
    figures: figuresTable<PlacedSegment>({
      title: 'Figures by segment',
      columns,
      rows,
      placeOf: ({ start, end }) => [start * scale, end * scale],
    }),
  })
}

interface PlacedSegment extends TemplateSegment {
  readonly position: number
  /** Where its first run starts in the strip, and its last one ends. */
  readonly start: number
  readonly end: number
}

function timesOf({ repeat }: TemplateSegment): number {
  return Math.max(1, repeat)
}

/** A block for each run, or for all runs of a segment where there are too many; with the name, or the number where that is too long. */
function stripOf(viewer: Viewer, segments: readonly PlacedSegment[], scale: number): Html {
  const runs = segments.reduce((sum, segment) => sum + timesOf(segment), 0)
  let number = 0
  return html`${segments.slice(0, MAX_ROWS).map(segment => {
    const times = runs > MAX_RUNS ? 1 : timesOf(segment)
    const width = ((segment.end - segment.start) * scale) / times
    const name = kindName(viewer, segment.type)
    if (width === 0) return nothing
    const look = segment.passFailEnabled === false ? 'approximate' : 'solid'
    return Array.from({ length: times }, (_, run) => {
      number += 1
      const left = segment.start * scale + run * width
      const text = (look: string, content: Part) =>
        html`<text class="${look}" x="${percent(left + width / 2)}" y="50%" dy="0.35em">${content}</text>`
      return html`<g class="${look}">${blockOf(look, left, width)}${
        width > name.length * LETTER_WIDTH ? text('word', name) : nothing
      }${width > NUMBER_WIDTH ? text(width > name.length * LETTER_WIDTH ? 'number' : 'number always', number) : nothing}</g>`
    })
  })}`
}

function blockOf(look: string, left: number, width: number): Html {
  const fill = look === 'approximate' ? html` fill="url(#hatch-approximate)"` : nothing
  return html`<rect class="${look}"${fill} x="${percent(left)}" width="${percent(width)}" height="100%"/>`
}

const MAX_RUNS = 200
/** In per cent of a wide strip; of a narrow one, only numbers have room. */
const LETTER_WIDTH = 0.85
const NUMBER_WIDTH = 3

function lengthColumns(viewer: Viewer): TableColumn<PlacedSegment>[] {
  return [
    { title: 'Position', numeric: true, cell: ({ position }) => position },
    { title: label('type'), cell: ({ type }) => kindName(viewer, type) },
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
    { title: label('repeat'), numeric: true, cell: ({ repeat }) => `${numberText(repeat)} ×` },
  ]
}

const SPEED: TableColumn<PlacedSegment> = {
  title: label('speed'),
  numeric: true,
  cell: ({ speed }) => speed ?? NONE,
}

const GRADED: TableColumn<PlacedSegment> = {
  title: label('passFailEnabled'),
  cell: ({ passFailEnabled }) => (passFailEnabled === undefined ? 'Not known' : passFailEnabled ? 'Yes' : 'No'),
}

const THRESHOLD: TableColumn<PlacedSegment> = {
  title: label('passGradeThreshold'),
  numeric: true,
  cell: ({ passFailEnabled, passGradeThreshold }) =>
    passFailEnabled === false || passGradeThreshold === undefined ? NONE : `${passGradeThreshold}\u00a0%`,
}

const FAILURE_TEXT: TableColumn<PlacedSegment> = {
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
