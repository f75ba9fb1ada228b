import { isCounted, segmentTypes, type TemplateSegment } from '../../contract/training-templates.ts'
import { html, type Html } from '../html.ts'
import { percent } from './plane.ts'
import { typeName } from '../text/names.ts'
import type { Viewer } from '../page.ts'
import { countText, durationText } from '../text/text.ts'

/** A program as one strip: its segments in their order, as wide as they are long. */

/** How wide one repetition is drawn. Segments are measured in seconds or in repetitions. */
const REPETITION_SECONDS = 3

/** How wide one run of a segment is drawn, in seconds. */
function drawnSeconds({ type, duration }: TemplateSegment): number {
  return Math.max(0, isCounted(type) ? duration * REPETITION_SECONDS : duration)
}

/** `2 min`, `40 repetitions` */
export function segmentLength({ type, duration }: TemplateSegment): string {
  return isCounted(type) ? countText(duration, 'repetition') : durationText(duration)
}

/** How many segments are run. */
export function runsOf(segments: readonly TemplateSegment[]): number {
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
export function programStrip(viewer: Viewer, segments: readonly TemplateSegment[]): Html {
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
