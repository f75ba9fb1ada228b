import { isCounted, type TemplateSegment, type TrainingTemplate } from '../../../contract/training-templates.ts'
import { programStrip, segmentLength } from '../../charts/program-strip.ts'
import { html, type Html } from '../../html.ts'
import { card, drawnText } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { typeName } from '../../text/names.ts'
import { countText, durationText, numberText, percentText } from '../../text/text.ts'

/** The segments of a program as one strip, and as a table. */
export function segmentsCard(viewer: Viewer, { Segment }: TrainingTemplate): Html {
  if (Segment.length === 0) return card('Segments', html`<p class="muted">This program has no segments.</p>`)
  return card(
    'Segments',
    html`
      <p class="summary">${segmentsSummary(Segment)}${drawnText(Segment.length, MAX_ROWS)}</p>
      ${programStrip(viewer, Segment)}
      <ol class="segments">${Segment.slice(0, MAX_ROWS).map(
        segment => html`<li>${typeName(viewer, segment.type)} <span class="muted">${detailsText(segment)}</span></li>`,
      )}</ol>
    `,
    { id: 'segments' },
  )
}

/** More rows would be too many for a page. */
const MAX_ROWS = 200

/** `50 repetitions, 2 ×, passes at 68 %` */
function detailsText(segment: TemplateSegment): string {
  const { repeat, passFailEnabled, passGradeThreshold } = segment
  const isPassing = passFailEnabled !== false && passGradeThreshold !== undefined
  return [
    segmentLength(segment),
    ...(repeat > 1 ? [`${numberText(repeat)}\u00a0×`] : []),
    ...(isPassing ? [`passes at ${percentText(passGradeThreshold)}`] : []),
  ].join(', ')
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
