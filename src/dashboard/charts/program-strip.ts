import { isCounted, type TemplateSegment } from '../../contract/training-templates.ts'
import { html, type Html } from '../html.ts'
import { kindName } from '../text/names.ts'
import type { Viewer } from '../page.ts'
import { countText, durationText, numberText } from '../text/text.ts'

/** A program as one strip: its segments in their order, as wide as they are long. */

/** How wide one repetition is drawn. Segments are measured in seconds or in repetitions. */
export const REPETITION_SECONDS = 3

/** How wide one run of a segment is drawn, in seconds. */
export function drawnSeconds({ type, duration }: TemplateSegment): number {
  return Math.max(0, isCounted(type) ? duration * REPETITION_SECONDS : duration)
}

/** `Warm-up 2 min`, `Training 3 min (2 ×)`, `Bounce 40 repetitions`. */
function segmentText(viewer: Viewer, { type, duration, repeat }: TemplateSegment): string {
  const length = isCounted(type) ? countText(duration, 'repetition') : durationText(duration)
  return `${kindName(viewer, type)} ${length}${repeat > 1 ? ` (${numberText(repeat)}\u00a0×)` : ''}`
}

/** The segments in words, in their order. */
function programText(viewer: Viewer, segments: readonly TemplateSegment[]): string {
  const named = segments.slice(0, MAX_NAMED).map(segment => segmentText(viewer, segment))
  const others = segments.length - named.length
  return `${named.join(', ')}${others > 0 ? `, and ${numberText(others)} more` : ''}`
}

const MAX_NAMED = 12

/** A small strip for a row of a table, with its segments in words. */
export function programStrip(viewer: Viewer, segments: readonly TemplateSegment[]): Html {
  const runs = segments.reduce((sum, { repeat }) => sum + Math.max(1, repeat), 0)
  const parts = segments.slice(0, MAX_PARTS).flatMap(segment => {
    const times = Math.max(1, segment.repeat)
    const width = drawnSeconds(segment)
    // With more runs than that, all runs of a segment are one part.
    return runs > MAX_PARTS ? [width * times] : Array.from({ length: times }, () => width)
  })
  const whole = parts.reduce((sum, part) => sum + part, 0)
  if (whole === 0) return html`<span class="muted">–</span>`
  let end = 0
  const rects = parts.map(part => {
    const start = end
    end += (part * WIDTH) / whole
    return html`<rect x="${start.toFixed(1)}" width="${(end - start).toFixed(1)}" height="10"/>`
  })
  return html`<svg class="program-strip" viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" role="img" aria-label="${programText(viewer, segments)}">${rects}</svg>`
}

const MAX_PARTS = 60
const WIDTH = 200
