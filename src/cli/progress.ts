import { escapeControls } from '../contract/control-characters.ts'

/**
 * A line on stderr with how much of the current work is done, and how long the rest takes; undefined if stderr is no terminal. It does
 * not listen to the keyboard: a library that does would catch the interrupt and exit with 0.
 */
export function startProgress(verb?: string) {
  if (!process.stderr.isTTY) return undefined
  let current = ''
  let startedAt = 0
  const end = () => {
    if (current !== '') overwriteLine('')
    current = ''
  }
  return {
    /** `count` says how much is done, if that is not a number of rows. */
    show(title: string, done: number, expected = 0, count?: string) {
      if (title !== current) startedAt = performance.now()
      current = title
      const seconds = (performance.now() - startedAt) / 1000
      const pace = seconds < 1 ? 0 : done / seconds
      const line = [
        `${verb === undefined ? '' : `${verb} `}${title}: ${count ?? `${done} rows`}`,
        ...(pace === 0 || count !== undefined ? [] : [`${Math.round(pace)} a second`]),
        ...(pace === 0 || expected <= done ? [] : [`${spanOf((expected - done) / pace)} left`]),
      ].join(', ')
      overwriteLine(line)
    },
    end,
    [Symbol.dispose]: end,
  }
}

function spanOf(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}

/** Replaces the last line on the terminal. */
export function overwriteLine(line: string) {
  const { stderr } = process
  // A line that wraps could not be overwritten. Some terminals do not report their width.
  stderr.write(`\r\u001b[K${escapeControls(line).slice(0, (stderr.columns || 80) - 1)}`)
}
