import { html, type Html, nothing } from '../html.ts'
import { durationText } from '../text.ts'

/** Times of the running lock, which assets/alive.js keeps up to date. */

interface RunningTime {
  readonly start: number
  /** Up to when time counts; it goes on only if that is now. */
  readonly until: number
  readonly now: number
  readonly plannedEnd: number | null
}

/** Time that has elapsed, and goes on while the page is open. */
export function tickingTime(start: number, { until, now }: Pick<RunningTime, 'until' | 'now'>): Html {
  const text = durationText((until - start) / 1000)
  return until === now ? html`<span data-since="${start}" data-now="${now}">${text}</span>` : html`<span>${text}</span>`
}

/** A bar from the start to the planned end, and what is left of it. */
export function timeBar({ start, until, now, plannedEnd }: RunningTime): Html {
  if (plannedEnd === null || plannedEnd <= start) return nothing
  const length = plannedEnd - start
  const part = Math.min(1, Math.max(0, (until - start) / length))
  const text = `${durationText((until - start) / 1000)} of ${durationText(length / 1000)}`
  const left = plannedEnd - until
  const live = until === now ? html` data-until="${plannedEnd}" data-now="${now}"` : nothing
  return html`
    <p class="small time-of">${text}</p>
    <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${text}"><rect class="whole" width="100" height="8"/><rect class="part" width="${(part * 100).toFixed(1)}" height="8"/></svg>
    <p class="small muted">${left > 0 ? html`<span${live}>${durationText(left / 1000)}</span> left` : 'The planned end has passed'}</p>
  `
}
