import { html, type Html, nothing, type Part } from '../html.ts'
import { durationText, NONE, numberText } from '../text/text.ts'

/** Times of the running lock, which assets/live-updates.js keeps up to date. */

interface RunningTime {
  readonly start: number
  /** Up to when time counts; the page keeps counting only if that is now. */
  readonly until: number
  readonly now: number
  readonly plannedEnd: number | null
}

/** The time since a start; it keeps counting while the page is open. A session may be planned to start later. */
export function tickingTime(start: number, { until, now }: Pick<RunningTime, 'until' | 'now'>): Part {
  if (start > until) return NONE
  return until === now
    ? html`<span data-since="${start}" data-now="${now}">${clockText(now - start)}</span>`
    : html`<span>${durationText((until - start) / 1000)}</span>`
}

/** A bar from the start to the planned end, and what is left of it. */
export function timeBar({ start, until, now, plannedEnd }: RunningTime): Html {
  if (plannedEnd === null || plannedEnd <= start || start > until) return nothing
  const length = plannedEnd - start
  const part = Math.min(1, Math.max(0, (until - start) / length))
  const text = `${durationText((until - start) / 1000)} of ${durationText(length / 1000)}`
  const left = plannedEnd - until
  const rest =
    until === now
      ? html`<span data-until="${plannedEnd}" data-now="${now}">${clockText(left)}</span>`
      : html`<span>${durationText(left / 1000)}</span>`
  return html`
    <p class="small time-of">${text}</p>
    <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${text}"><rect class="whole" width="100" height="8"/><rect class="part" width="${(part * 100).toFixed(1)}" height="8"/></svg>
    <p class="small muted">${left > 0 ? html`${rest} left` : 'The planned end has passed'}</p>
  `
}

/** `4 d 22:13:05` or `22:13:05`: as assets/live-updates.js writes it, so that nothing moves when the script starts. */
function clockText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const days = Math.floor(seconds / 86_400)
  const clock = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60]
    .map(part => String(part).padStart(2, '0'))
    .join(':')
  return days > 0 ? `${numberText(days)}\u00a0d ${clock}` : clock
}
