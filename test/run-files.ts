import { join } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'

/** Runs test files one after the other in this process, and tells the process that names them of each test. */

export interface TestResult {
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  readonly reason: string
}

/** What is sent: each test of the file that was named last, and that there are no more. */
export type Message = TestResult | 'ended'

const stream = run({ files: [join(import.meta.dirname, 'run-next.ts')], isolation: 'none' })
stream.on('test:pass', ({ name, nesting, skip, details }) => {
  if (nesting === 1) send('ended')
  if (nesting < 2 || details.type === 'suite') return
  const isSkipped = skip !== undefined && skip !== false
  const reason = typeof skip === 'string' ? skip : 'no reason given'
  send({ title: name, outcome: isSkipped ? 'skipped' : 'passed', reason })
})
stream.on('test:fail', ({ name, nesting, details }) => {
  // The error of a test wraps what was thrown. A suite, or a test with subtests, fails with what is in it.
  const { cause = details.error, failureType } = details.error as Error & { failureType?: string }
  process.exitCode = 1
  if (nesting > 0 && failureType !== 'subtestsFailed') {
    send({ title: nesting === 1 ? 'the file itself' : name, outcome: 'failed', reason: describe(cause) })
  }
  if (nesting === 1) send('ended')
})
stream.on('test:stderr', ({ message }) => process.stderr.write(message))
stream.on('test:stdout', ({ message }) => process.stdout.write(message))
stream.on('end', () => process.disconnect?.())
stream.resume()

function send(message: Message) {
  process.send?.(message)
}

/** The message of an error with its place in our files, without what Node adds to it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error)
  const own = (error.stack ?? error.message).replaceAll(/\n +at .*node:internal.*/g, '').slice(0, 4000)
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`
}
