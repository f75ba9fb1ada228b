import {
  isCounted,
  segmentTypes,
  type TemplateSegment,
  type TrainingTemplate,
} from '../../../contract/training-templates.ts'
import { percent } from '../../charts/plane.ts'
import { html, type Html } from '../../html.ts'
import { card, drawnText } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { typeName } from '../../text/names.ts'
import { countText, durationText, numberText, percentText } from '../../text/text.ts'

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

/** How wide one repetition is drawn. Segments are measured in seconds or in repetitions. */
const REPETITION_SECONDS = 3

/** How wide one run of a segment is drawn, in seconds. */
function drawnSeconds({ type, duration }: TemplateSegment): number {
  return Math.max(0, isCounted(type) ? duration * REPETITION_SECONDS : duration)
}

/** `2 min`, `40 repetitions` */
function segmentLength({ type, duration }: TemplateSegment): string {
  return isCounted(type) ? countText(duration, 'repetition') : durationText(duration)
}

/** How many segments are run. */
function runsOf(segments: readonly TemplateSegment[]): number {
  return segments.reduce((sum, { repeat }) => sum + Math.max(1, repeat), 0)
}

/** `12 min and 40 repetitions` */
export function lengthText(segments: readonly TemplateSegment[]): string {
  const lengthOf = (counted: boolean) =>
    segments
      .filter(({ type }) => isCounted(type) === counted)
      .reduce((sum, { duration, repeat }) => sum + duration * Math.max(1, repeat), 0)
  const [seconds, reps] = [lengthOf(false), lengthOf(true)]
  const parts = [...(seconds > 0 ? [durationText(seconds)] : []), ...(reps > 0 ? [countText(reps, 'repetition')] : [])]
  return parts.join(' and ') || 'of no length'
}

/** The strip; a segment has the shade of its type and, where there is room, its letter. What it shows stands in a list as well. */
function programStrip(viewer: Viewer, segments: readonly TemplateSegment[]): Html {
  const runs = runsOf(segments)
  const parts = segments.slice(0, MAX_PARTS).flatMap(segment => {
    const times = Math.max(1, segment.repeat)
    const length = drawnSeconds(segment)
    const { type } = segment
    // With more runs than that, all runs of a segment are one part.
    return runs > MAX_PARTS
      ? [{ type, length: length * times }]
      : Array.from({ length: times }, () => ({ type, length }))
  })
  const whole = parts.reduce((sum, { length }) => sum + length, 0)
  let end = 0
  const rects = parts.map(({ type, length }) => {
    const start = end
    end += (length * 100) / Math.max(whole, 1)
    const letter =
      end - start >= LETTER_WIDTH &&
      html`<text x="${percent((start + end) / 2)}" y="50%">${typeLetter(viewer, type)}</text>`
    return html`<rect x="${percent(start)}" width="${percent(end - start)}" height="100%" fill-opacity="${shadeOf(type)}"/>${letter}`
  })
  return html`<svg class="program-strip" width="100%" aria-hidden="true">${rects}</svg>`
}

function shadeOf(type: string): string {
  return (0.15 + 0.06 * segmentTypes.indexOf(type)).toFixed(2)
}

/** The first letter of a type; while names are hidden, the one that it is called by. */
function typeLetter(viewer: Viewer, type: string): string {
  const name = typeName(viewer, type)
  return name.replace(/^Type /, '').slice(0, 1)
}

const MAX_PARTS = 60
/** In per cent. */
const LETTER_WIDTH = 3.5
