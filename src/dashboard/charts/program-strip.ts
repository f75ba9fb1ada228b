import { isCounted, segmentTypes, type TemplateSegment } from '../../contract/training-templates.ts'
import { html, type Html } from '../html.ts'
import { percent } from './plane.ts'
import { typeName } from '../text/names.ts'
import type { Viewer } from '../page.ts'
import { countText, durationText, numberText } from '../text/text.ts'

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

/** `Warm-up 2 min`, `Training 3 min (2 ×)`, `Bounce 40 repetitions`. */
function segmentText(viewer: Viewer, segment: TemplateSegment): string {
  const { type, repeat } = segment
  return `${typeName(viewer, type)} ${segmentLength(segment)}${repeat > 1 ? ` (${numberText(repeat)}\u00a0×)` : ''}`
}

/** The segments in words, in their order. */
function programText(viewer: Viewer, segments: readonly TemplateSegment[]): string {
  const named = segments.slice(0, MAX_NAMED).map(segment => segmentText(viewer, segment))
  const others = segments.length - named.length
  return `${named.join(', ')}${others > 0 ? `, and ${numberText(others)} more` : ''}`
}

const MAX_NAMED = 12

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

/** How long a program is drawn, in seconds. */
export function drawnLength(segments: readonly TemplateSegment[]): number {
  return segments.reduce((sum, segment) => sum + drawnSeconds(segment) * Math.max(1, segment.repeat), 0)
}

/**
 * A program as a strip, with its segments in words: each has the letter of its type where there is room. Of several programs, the
 * longest one takes the whole width.
 */
export function programStrip(
  viewer: Viewer,
  segments: readonly TemplateSegment[],
  longest = drawnLength(segments),
): Html {
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
  if (whole === 0) return html`<span class="muted">–</span>`
  let end = 0
  const rects = parts.map(({ type, length }) => {
    const start = end
    end += (length * 100) / whole
    const hasLetter = (length * 100) / longest >= LETTER_WIDTH
    const letter = hasLetter && html`<text x="${percent((start + end) / 2)}" y="50%">${typeLetter(viewer, type)}</text>`
    return html`<rect x="${percent(start)}" width="${percent(end - start)}" height="100%"/>${letter}`
  })
  return html`<svg class="program-strip" role="img" width="${percent((whole * 100) / longest)}" aria-label="${programText(viewer, segments)}">${rects}</svg>`
}

/** What the letters of strips stand for. */
export function stripKey(viewer: Viewer, segments: readonly TemplateSegment[]): Html {
  const types = segmentTypes.filter(name => segments.some(({ type }) => type === name))
  return html`<ul class="legend">${types.map(
    type => html`<li><b>${typeLetter(viewer, type)}</b> ${typeName(viewer, type)}</li>`,
  )}</ul>`
}

/** The first letter of a type; while names are hidden, the one that it is called by. */
function typeLetter(viewer: Viewer, type: string): string {
  const name = typeName(viewer, type)
  return name.replace(/^Type /, '').slice(0, 1)
}

const MAX_PARTS = 60
/** In per cent of the longest strip. */
const LETTER_WIDTH = 3.5
