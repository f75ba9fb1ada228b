import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { dataFolderOf } from '../backup/files.ts'
import { lockFile, makeFolders, sqliteFile, syncFolder, waitForLock } from '../store/index.ts'

export const KEPT_MS = 3_600_000

/** What the names of files beside the folder of an upload add to its identifier. */
const LOCK = '.lock'
const UNFINISHED = '.unfinished'

/** The folders with the files of uploads on this machine, one for each upload, in the data folder. */
export class UploadFolder {
  readonly path: string

  constructor(databaseUrl: string) {
    this.path = join(dataFolderOf(databaseUrl), `${databaseName(databaseUrl)}.uploads`)
  }

  /** Whether the machine has the files of an upload. */
  has(id: string): boolean {
    return existsSync(join(this.path, id))
  }

  /** How many bytes are free. The folder is made. */
  async free(): Promise<number> {
    makeFolders(this.path)
    const { bavail, bsize } = await statfs(this.path)
    return bavail * bsize
  }

  /**
   * The lock of whoever works on an upload; undefined if another process does, or this one. The lock ends with its process. It is no job:
   * the files are on one machine, and commands remove old ones before they open a database.
   */
  lock(id: string): (() => Promise<void>) | undefined {
    return lockFile(join(this.path, id + LOCK))
  }

  /** As `lock`, if nobody has it for long. */
  waitForLock(id: string): Promise<(() => Promise<void>) | undefined> {
    // Shorter than an answer may take.
    return waitForLock(join(this.path, id + LOCK), 2000)
  }

  /** A new folder for the files of an upload that is being received. */
  create(id: string): string {
    const folder = join(this.path, id + UNFINISHED)
    mkdirSync(folder, { mode: 0o700 })
    return folder
  }

  /** Gives the folder its name: its files are whole. */
  finish(id: string) {
    const unfinished = join(this.path, id + UNFINISHED)
    syncFolder(unfinished)
    renameSync(unfinished, join(this.path, id))
    syncFolder(this.path)
  }

  remove(id: string) {
    for (const ending of ['', UNFINISHED]) rmSync(join(this.path, id + ending), { recursive: true, force: true })
  }

  /** The files, in the order of the form. */
  filesOf(id: string): string[] {
    const folder = join(this.path, id)
    return readdirSync(folder)
      .filter(name => /^\d+$/.test(name))
      .toSorted((a, b) => Number(a) - Number(b))
      .map(name => join(folder, name))
  }

  rejectedFile(id: string): string {
    return join(this.path, id, 'rejected.csv')
  }

  /** The uploads of which there is something here. */
  ids(): string[] {
    if (!existsSync(this.path)) return []
    return [...new Set(readdirSync(this.path).flatMap(name => ID.exec(name)?.[0] ?? []))]
  }

  /**
   * Removes what is not needed any more, unless somebody works on it: uploads that are not `needed`, those that are older than an hour,
   * and what a killed process was receiving.
   */
  async sweep(now: number, isNeeded: (id: string) => boolean = () => true): Promise<void> {
    for (const id of this.ids()) {
      const receivedAt = Number.parseInt(id.split('-')[0] ?? '', 36)
      const isDue = !isNeeded(id) || now - receivedAt > KEPT_MS || !this.has(id)
      if (!isDue) continue
      const release = this.lock(id)
      if (release === undefined) continue
      try {
        this.remove(id)
      } finally {
        await release()
      }
    }
  }
}

/** Services of several databases may share a data folder. A password is no part of the name. */
function databaseName(url: string): string {
  const file = sqliteFile(url)
  return file === undefined ? `postgres-${hash('sha256', url.replace(/^.*@/, '')).slice(0, 16)}` : basename(file)
}

/** Begins with the time, so that the age of a folder is known without the database. */
export function newUploadId(now: number): string {
  return `${now.toString(36)}-${randomBytes(8).toString('hex')}`
}

const ID = /^[0-9a-z]{8,9}-[0-9a-f]{16}(?=$|\.lock$|\.unfinished$)/
