import type { PullProgress } from '../pull/report.ts'
import { overwriteLine } from './progress.ts'

/** A line on stderr with the progress of a pull, if stderr is a terminal; else undefined. */
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
      const left = expected === undefined || expected <= rows || pace === 0 ? undefined : (expected - rows) / pace
      const line = [
        `${title}: ${rows} rows`,
        ...(pace === 0 ? [] : [`${Math.round(pace)} a second`]),
        ...(left === undefined ? [] : [`${spanOf(left)} left`]),
      ].join(', ')
      overwriteLine(line)
    },
    end() {
      if (current !== '') overwriteLine('')
    },
  }
}

function spanOf(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}
