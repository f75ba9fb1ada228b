import { isCounted, type TemplateSegment, type TrainingTemplate } from '../../../contract/training-templates.ts'
import { programStrip, segmentLength } from '../../charts/program-strip.ts'
import { html, type Html } from '../../html.ts'
import { card, drawnText, table, type TableColumn } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { label } from '../../text/labels.ts'
import { kindName } from '../../text/names.ts'
import { countText, durationText, NONE, numberText, percentText } from '../../text/text.ts'

/** The segments of a program as one strip, and as a table. */
export function segmentsCard(viewer: Viewer, { Segment }: TrainingTemplate): Html {
  if (Segment.length === 0) return card('Segments', html`<p class="muted">This program has no segments.</p>`)
  const rows = Segment.slice(0, MAX_ROWS).map((segment, index) => ({ ...segment, position: index + 1 }))
  return card(
    'Segments',
    html`
      <p class="summary">${segmentsSummary(Segment)}${drawnText(Segment.length, MAX_ROWS)}</p>
      ${programStrip(viewer, Segment)}
      ${table('Segments', columnsOf(viewer), rows, { look: 'compact' })}
    `,
    { id: 'segments' },
  )
}

/** More rows would be too many for a page. */
const MAX_ROWS = 200

function columnsOf(viewer: Viewer): TableColumn<TemplateSegment & { readonly position: number }>[] {
  return [
    { title: label('type'), cell: ({ position, type }) => `${position} ${kindName(viewer, type)}` },
    { title: label('duration'), numeric: true, cell: segmentLength },
    { title: label('repeat'), numeric: true, cell: ({ repeat }) => `${numberText(repeat)} ×` },
    {
      title: label('passGradeThreshold'),
      numeric: true,
      cell: ({ passFailEnabled, passGradeThreshold }) =>
        passFailEnabled === false || passGradeThreshold === undefined ? NONE : percentText(passGradeThreshold),
    },
  ]
}

/** `8 segments: 12 min and 40 repetitions.` */
function segmentsSummary(segments: readonly TemplateSegment[]): string {
  const lengthOf = (counted: boolean) =>
    segments
      .filter(({ type }) => isCounted(type) === counted)
      .reduce((sum, { duration, repeat }) => sum + duration * Math.max(1, repeat), 0)
  const [seconds, reps] = [lengthOf(false), lengthOf(true)]
  const parts = [...(seconds > 0 ? [durationText(seconds)] : []), ...(reps > 0 ? [countText(reps, 'repetition')] : [])]
  return `${countText(segments.length, 'segment')}: ${parts.join(' and ') || 'of no length'}.`
}
