import { type Source, SourceError, SourceRefusedError } from './source.ts'
import type { PullReport } from './report.ts'

export interface RepeatOptions {
  /** Milliseconds from the end of a round to the start of the next. */
  readonly every: number
  readonly source: Source
  readonly round: () => Promise<PullReport>
  readonly onReport: (report: PullReport) => void
  readonly onFailure: (error: SourceError, waitMs: number) => void
}

/**
 * Pulls until it is stopped, which throws StoppedError. After a failure of the source, the wait before the next round doubles.
 * Throws SourceRefusedError if the source refuses the API key three times in a row.
 */
export async function pullRepeatedly({ every, source, round, onReport, onFailure }: RepeatOptions): Promise<never> {
  let failures = 0
  let refusals = 0
  for (;;) {
    let waitMs = every
    try {
      onReport(await round())
      failures = 0
      refusals = 0
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      refusals = error instanceof SourceRefusedError ? refusals + 1 : 0
      if (refusals === MAX_REFUSALS) throw error
      waitMs = Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS)
      failures += 1
      onFailure(error, waitMs)
    }
    await source.wait(waitMs)
  }
}

const MAX_REFUSALS = 3
const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 300_000
