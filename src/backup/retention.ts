import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isEncryptedFile } from './encryption.ts'
import { syncFolder } from '../store/index.ts'
import { digestFile, startOf } from './files.ts'

/** The number of days, weeks and months of which one backup each is kept. */
export interface Retention {
  readonly days: number
  readonly weeks: number
  readonly months: number
}

/** A path for a new backup that no file in the folder has. */
export function nameBackup(folder: string, at: number, isEncrypted: boolean): string {
  const moment = new Date(at)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')
  const ending = isEncrypted ? '.db.age' : '.db'
  for (let count = 1; ; count += 1) {
    const path = join(folder, `lockstep-${moment}${count === 1 ? '' : `-${count}`}${ending}`)
    if (!existsSync(path)) return path
  }
}

/**
 * Removes backups from a folder, except `newest` and the newest of each of the last days, weeks and months (UTC) that have
 * one. Other files stay. Returns the paths of the removed backups.
 */
export function removeOld(folder: string, newest: string, retention: Retention): string[] {
  const backups = readdirSync(folder)
    .flatMap(name => {
      const [path, at] = [join(folder, name), momentOf(name)]
      return at !== undefined && isBackup(path) ? [{ path, at }] : []
    })
    .toSorted((a, b) => Temporal.ZonedDateTime.compare(b.at, a.at) || (a.path < b.path ? 1 : -1))
  const kept = keptOf(backups, retention).add(newest)
  const removed = backups.map(({ path }) => path).filter(path => !kept.has(path))
  for (const path of removed) {
    rmSync(path, { force: true })
    rmSync(digestFile(path), { force: true })
  }
  if (removed.length > 0) syncFolder(folder)
  return removed
}

/** The paths of the backups to keep; `backups` must be sorted, newest first. */
function keptOf(
  backups: readonly { path: string; at: Temporal.ZonedDateTime }[],
  { days, weeks, months }: Retention,
): Set<string> {
  const kept = new Set<string>()
  const keep = (count: number, periodOf: (at: Temporal.ZonedDateTime) => string) => {
    const periods = new Set<string>()
    for (const { path, at } of backups) {
      if (periods.size === count || periods.has(periodOf(at))) continue
      periods.add(periodOf(at))
      kept.add(path)
    }
  }
  keep(days, at => at.toPlainDate().toString())
  keep(weeks, at => `${at.yearOfWeek} ${at.weekOfYear}`)
  keep(months, at => at.toPlainDate().toPlainYearMonth().toString())
  return kept
}

function momentOf(name: string): Temporal.ZonedDateTime | undefined {
  const text = NAME.exec(name)?.[1]
  try {
    return text === undefined ? undefined : Temporal.Instant.from(text).toZonedDateTimeISO('UTC')
  } catch {
    return undefined
  }
}

const NAME = /^lockstep-(\d{8}T\d{6}Z)(?:-\d+)?\.db(?:\.age)?$/

/** Whether this program wrote the file: a digest is next to it, and its first bytes fit its name. */
function isBackup(path: string): boolean {
  if (!existsSync(digestFile(path))) return false
  return path.endsWith('.age') ? isEncryptedFile(path) : startOf(path, 15) === 'SQLite format 3'
}
