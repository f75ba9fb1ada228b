import { account, partnership } from './account-kinds.ts'
import { isEndLine, LineCount } from './end-line.ts'
import { InvalidError } from './faults.ts'
import { UnfinishedError } from './kind.ts'
import type { Line, Lines } from './lines.ts'
import { Notes } from './notes.ts'
import { archiveRecord, identityOf, parseLine, readRow } from './records.ts'
import { RejectedRows } from './rejected-rows.ts'
import { ImportError, type LeftOut, MAX_LISTED, NoteCounts } from './report.ts'
import type { ImportStaging } from './staging.ts'

/** Reads every line, stages its row, and collects errors. */
export async function stageLines(incoming: ImportStaging, batches: Lines) {
  const { rejected, onlyAccount } = incoming.options
  const unfinished: { line: number; kind: string; id: number }[] = []
  let unfinishedCount = 0
  const counts = new NoteCounts()
  const lineCount = new LineCount()
  const leftOut = onlyAccount === undefined ? undefined : { accounts: 0, access: 0, others: 0 }
  const context = { counts, lineCount, now: Date.now(), leftOut }

  for await (const lines of batches) {
    for (const line of lines) {
      lineCount.add()
      try {
        stage(line, incoming, context)
      } catch (error) {
        if (!(error instanceof UnfinishedError)) throw error
        unfinishedCount += 1
        if (unfinished.length < MAX_LISTED) unfinished.push({ line: line.number, kind: error.kind, id: error.id })
      }
    }
    await incoming.flushFull()
    if (rejected instanceof RejectedRows) await rejected.flushFull()
  }
  await incoming.flush()
  const left = leftOut === undefined ? {} : { leftOut }
  return { hasEnd: lineCount.hasEnd, unfinished, unfinishedCount, ...left, ...counts.list() }
}

interface LineContext {
  readonly counts: NoteCounts
  readonly lineCount: LineCount
  readonly now: number
  /** Undefined if the records of all accounts are stored. */
  readonly leftOut: Record<keyof LeftOut, number> | undefined
}

/** Throws UnfinishedError. */
function stage(line: Line, incoming: ImportStaging, { counts, lineCount, now, leftOut }: LineContext) {
  const { rejected, onlyAccount } = incoming.options
  let envelope: unknown
  try {
    envelope = parseLine(line)
    if (isEndLine(envelope)) return lineCount.end(envelope)
    const record = archiveRecord(envelope)
    if (leftOut !== undefined) {
      const why = whyLeftOut(envelope, onlyAccount)
      if (why !== undefined) {
        leftOut[why] += 1
        return
      }
    }
    const notes = new Notes(now)
    try {
      incoming.add(record.kind, line.number, readRow(record, notes, line.isPartial), line.text)
    } catch (error) {
      if (!(error instanceof UnfinishedError)) throw error
      incoming.skip(record.kind)
      counts.add(record.kind.name, notes)
      throw error
    }
    counts.add(record.kind.name, notes)
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error
    const identity = identityOf(envelope)
    if (rejected instanceof RejectedRows) {
      // It says that lines are missing, and missing lines cannot be rejected.
      if (isEndLine(envelope)) throw new ImportError([{ line: line.number, reason: error.message }], 1)
      const raw = line.text ?? line.bytes
      rejected.add({ line: line.number, ...identity, reason: error.message, raw })
      return
    }
    rejected.add(line.number, error.message)
    // The records of an account are valid even if its own line is not.
    if (identity.kind === account.name && identity.recordId !== null) {
      incoming.add(account, line.number, { id: identity.recordId })
    }
  }
}

/** Why a line is not of this account; undefined if it is, or has no owner, which is an error of the line. */
function whyLeftOut(envelope: unknown, onlyAccount: number | undefined): keyof LeftOut | undefined {
  const { kind, ownerId } = identityOf(envelope)
  if (kind === account.name) return 'accounts'
  if (kind === partnership.name) return 'access'
  return ownerId === null || ownerId === onlyAccount ? undefined : 'others'
}
