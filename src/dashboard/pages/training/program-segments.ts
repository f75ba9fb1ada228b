import { isCounted, type TemplateSegment, type TrainingTemplate } from '../../../contract/training-templates.ts'
import { html, type Html } from '../../html.ts'
import { card } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { typeName } from '../../text/names.ts'
import { countText, durationText, numberText, percentText } from '../../text/text.ts'

/** The segments of a program, numbered as they are run. */
export function segmentsCard(viewer: Viewer, { Segment }: TrainingTemplate, more: Html): Html {
  if (Segment.length === 0) return card('Segments', html`<p class="muted">This program has no segments.</p>${more}`)
  let last = 0
  const items = Segment.slice(0, MAX_ROWS).map(segment => {
    const first = last + 1
    last += Math.max(1, segment.repeat)
    const numbers = first === last ? numberText(first) : `${numberText(first)}–${numberText(last)}`
    return html`<li>${numbers} ${typeName(viewer, segment.type)} <span class="muted">${detailsText(segment)}</span></li>`
  })
  return card(
    'Segments',
    html`
      <p class="summary">${countText(runsOf(Segment), 'segment')}: ${lengthText(Segment)}.</p>
      <ul class="segments">${items}</ul>
      ${more}
    `,
    { id: 'segments' },
  )
}

/** More rows would be too many for a page. */
const MAX_ROWS = 200

/** `50 repetitions each, passes at 68 %` */
function detailsText(segment: TemplateSegment): string {
  const { repeat, passFailEnabled, passGradeThreshold } = segment
  const isPassing = passFailEnabled !== false && passGradeThreshold !== undefined
  const passes = isPassing ? `, passes at ${percentText(passGradeThreshold)}` : ''
  return `${segmentLength(segment)}${repeat > 1 ? ' each' : ''}${passes}`
}

/** `2 min`, `40 repetitions` */
function segmentLength({ type, duration }: TemplateSegment): string {
  return isCounted(type) ? countText(duration, 'repetition') : durationText(duration)
}

/** How many segments are run. */
function runsOf(segments: readonly TemplateSegment[]): number {
  return segments.reduce((sum, { repeat }) => sum + Math.max(1, repeat), 0)
}

/** `12 min + 40 repetitions` */
export function lengthText(segments: readonly TemplateSegment[]): string {
  const lengthOf = (counted: boolean) =>
    segments
      .filter(({ type }) => isCounted(type) === counted)
      .reduce((sum, { duration, repeat }) => sum + duration * Math.max(1, repeat), 0)
  const [seconds, reps] = [lengthOf(false), lengthOf(true)]
  const parts = [...(seconds > 0 ? [durationText(seconds)] : []), ...(reps > 0 ? [countText(reps, 'repetition')] : [])]
  return parts.join(' + ') || 'of no length'
}
