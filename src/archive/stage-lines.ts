import { account, partnership } from './account-kinds.ts'
import { checkEnd, isEndLine } from './end-line.ts'
import { InvalidError } from './faults.ts'
import type { Incoming } from './incoming.ts'
import { type Kind, type Row, UnfinishedError } from './kind.ts'
import type { Line, Lines } from './lines.ts'
import { Notes } from './notes.ts'
import { archiveRecord, identityOf, parseLine, readRow } from './records.ts'
import { ImportError, MAX_LISTED, NoteCounts } from './report.ts'

/** What is known of lines beside their rows. */
export type LineFacts = Awaited<ReturnType<typeof stageLines>>

/** Reads every line into a row, and collects errors. `check` throws InvalidError for a row that is not to be stored. */
export async function stageLines(
  incoming: Incoming,
  batches: Lines,
  check: (kind: Kind, row: Row) => void = () => {},
  counts = new NoteCounts(),
) {
  const { setsAside, onlyAccount } = incoming.options
  /** The first sessions that are not stored, because they have not started or have no result. */
  const unfinished: { line: number; kind: string; id: number }[] = []
  let unfinishedCount = 0
  /** Of this archive: several may stand one after the other. */
  let linesBefore = 0
  /** Whether the last line is the end of an archive; without it, it may have been cut short. */
  let hasEnd = false
  /** How many lines are not of the account whose records alone are stored. */
  const leftOut = onlyAccount === undefined ? undefined : { accounts: 0, access: 0, others: 0 }
  const now = Date.now()

  const stage = (line: Line, envelope: unknown) => {
    if (isEndLine(envelope)) {
      const before = linesBefore - 1
      linesBefore = 0
      hasEnd = true
      return checkEnd(envelope, before)
    }
    const { kind, ...record } = archiveRecord(envelope)
    const why = leftOut && whyLeftOut(envelope, onlyAccount)
    if (leftOut !== undefined && why !== undefined) return void (leftOut[why] += 1)
    const notes = new Notes(now)
    try {
      const row = readRow({ kind, ...record }, notes)
      check(kind, row)
      incoming.add(kind, line.number, row, line.text)
    } catch (error) {
      if (!(error instanceof UnfinishedError)) throw error
      incoming.skip(kind)
      unfinishedCount += 1
      if (unfinished.length < MAX_LISTED) unfinished.push({ line: line.number, kind: kind.name, id: error.id })
    }
    counts.add(kind.name, notes)
  }
  const refuse = (line: Line, envelope: unknown, reason: string) => {
    // It says that lines are missing, and missing lines cannot be rejected.
    if (setsAside && isEndLine(envelope)) throw new ImportError([{ line: line.number, reason }], 1)
    incoming.refuse({ line: line.number, ...identityOf(envelope), reason, raw: line.text ?? line.bytes })
  }

  for await (const lines of batches) {
    for (const line of lines) {
      linesBefore += 1
      hasEnd = false
      let { envelope } = line
      try {
        envelope ??= parseLine(line)
        if (line.fault !== undefined) throw new InvalidError(line.fault)
        stage(line, envelope)
      } catch (error) {
        if (!(error instanceof InvalidError)) throw error
        refuse(line, envelope, error.message)
      }
    }
    await incoming.flushFull()
  }
  await incoming.flush()
  return { hasEnd, unfinished, unfinishedCount, ...(leftOut && { leftOut }), ...counts.list() }
}

/** Why a line is not of this account; undefined if it is, or has no owner, which is an error of the line. */
function whyLeftOut(envelope: unknown, onlyAccount: number | undefined) {
  const { kind, ownerId } = identityOf(envelope)
  if (kind === account.name) return 'accounts'
  if (kind === partnership.name) return 'access'
  return ownerId === null || ownerId === onlyAccount ? undefined : 'others'
}
