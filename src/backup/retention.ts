import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DAY_MS } from '../contract/time.ts'
import { isEncryptedFile } from './encryption.ts'
import { syncFolder } from '../store/index.ts'
import { digestFile, startOf } from './files.ts'

/** Backups in a folder: their names, and which of them are kept. */

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
    .map(name => ({ path: join(folder, name), at: momentOf(name) }))
    .filter((backup): backup is Backup => backup.at !== undefined && isBackup(backup.path))
    .toSorted((a, b) => b.at - a.at || (a.path < b.path ? 1 : -1))
  const kept = keptOf(backups, retention).add(newest)
  const removed = backups.map(({ path }) => path).filter(path => !kept.has(path))
  for (const path of removed) {
    rmSync(path, { force: true })
    rmSync(digestFile(path), { force: true })
  }
  if (removed.length > 0) syncFolder(folder)
  return removed
}

interface Backup {
  readonly path: string
  readonly at: number
}

/** The paths of the backups to keep; `backups` must be sorted, newest first. */
function keptOf(backups: readonly Backup[], { days, weeks, months }: Retention): Set<string> {
  const kept = new Set<string>()
  const keep = (count: number, periodOf: (at: number) => number) => {
    const periods = new Set<number>()
    for (const { path, at } of backups) {
      if (periods.size === count || periods.has(periodOf(at))) continue
      periods.add(periodOf(at))
      kept.add(path)
    }
  }
  keep(days, at => Math.floor(at / DAY_MS))
  // The first of January 1970 was a Thursday; weeks begin on Monday.
  keep(weeks, at => Math.floor((at / DAY_MS + 3) / 7))
  keep(months, at => new Date(at).getUTCFullYear() * 12 + new Date(at).getUTCMonth())
  return kept
}

function momentOf(name: string): number | undefined {
  const [, date, time] = NAME.exec(name) ?? []
  if (date === undefined || time === undefined) return undefined
  const at = Date.parse(`${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`)
  return Number.isNaN(at) ? undefined : at
}

const NAME = /^lockstep-(\d{8})T(\d{6})Z(?:-\d+)?\.db(?:\.age)?$/

/** Whether this program wrote the file: a digest is next to it, and its first bytes fit its name. */
function isBackup(path: string): boolean {
  if (!existsSync(digestFile(path))) return false
  return path.endsWith('.age') ? isEncryptedFile(path) : startOf(path, 15) === 'SQLite format 3'
}
