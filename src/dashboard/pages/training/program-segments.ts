import type { TemplateSegment, TrainingTemplate } from '../../../contract/training-templates.ts'
import { lengthText, programStrip, runsOf, segmentLength } from '../../charts/program-strip.ts'
import { html, type Html } from '../../html.ts'
import { card, drawnText } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { typeName } from '../../text/names.ts'
import { countText, numberText, percentText } from '../../text/text.ts'

/** The segments of a program as one strip and as a list, numbered as they are run. */
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
      <p class="summary">${countText(runsOf(Segment), 'segment')}: ${lengthText(Segment)}.${drawnText(Segment.length, MAX_ROWS)}</p>
      ${programStrip(viewer, Segment)}
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
