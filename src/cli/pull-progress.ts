import type { PullProgress } from '../pull/report.ts'

/** A line on stderr that shows how far a pull is, where that is a terminal; nothing elsewhere. */
export function startPullProgress(): { show(progress: PullProgress): void; end(): void } | undefined {
  const { stderr } = process
  if (!stderr.isTTY) return undefined
  let current = ''
  let startedAt = 0
  return {
    show({ title, rows, expected }) {
      if (title !== current) {
        current = title
        startedAt = performance.now()
      }
      const seconds = (performance.now() - startedAt) / 1000
      const pace = seconds < 1 ? 0 : rows / seconds
      const left = expected === undefined || pace === 0 ? undefined : Math.max(0, expected - rows) / pace
      const line = [
        `${title}: ${rows} rows`,
        ...(pace === 0 ? [] : [`${Math.round(pace)} a second`]),
        ...(left === undefined ? [] : [`${spanOf(left)} left`]),
      ].join(', ')
      // A line that wraps could not be rewritten. Some terminals do not say how wide they are.
      stderr.write(`\r\u001b[K${line.slice(0, (stderr.columns || 80) - 1)}`)
    },
    end() {
      if (current !== '') stderr.write('\r\u001b[K')
    },
  }
}

function spanOf(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}
