import { createHash, randomBytes } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { settings } from '../config.ts'
import { lockFile, makeFolders, sqliteFile, syncFile, syncFolder, withFile } from '../store/index.ts'

/** Files that are written completely or not at all, and their digests. */

export function readChunks(path: string, signal?: AbortSignal): AsyncIterable<Buffer> {
  // Without an encoding, a stream of a file gives buffers.
  return createReadStream(path, { highWaterMark: CHUNK_BYTES, ...(signal === undefined ? {} : { signal }) })
}

const CHUNK_BYTES = 64 * 1024

export async function sha256Of(path: string, signal?: AbortSignal): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of readReusing(path, 0, signal)) digest.update(chunk)
  return digest.digest('hex')
}

/**
 * The SHA-256 of a file in which the first occurrence of a text counts as zeros, and the position of that text; -1 if
 * the file does not hold it. So a file can contain its own digest.
 */
export async function sha256Without(path: string, text: string): Promise<{ digest: string; position: number }> {
  const wanted = Buffer.from(text)
  const digest = createHash('sha256')
  let position = -1
  let read = 0
  let rest: Buffer = Buffer.alloc(0)
  // The text may begin in one chunk and end in the next.
  for await (const bytes of readReusing(path, wanted.length)) {
    const found = position === -1 ? bytes.indexOf(wanted) : -1
    if (found !== -1) {
      position = read + found
      bytes.fill('0', found, found + wanted.length)
    }
    const end = Math.max(0, bytes.length - wanted.length)
    digest.update(bytes.subarray(0, end))
    read += end
    rest = Buffer.from(bytes.subarray(end))
  }
  return { digest: digest.update(rest).digest('hex'), position }
}

/**
 * The bytes of a file in chunks, each of which begins with the last bytes of the one before. All use the same buffer, so a chunk is
 * valid until the next is read: with a buffer for each, 70 MB would wait for garbage collection.
 */
async function* readReusing(path: string, overlap: number, signal?: AbortSignal): AsyncGenerator<Buffer> {
  await using file = await openFile(path)
  const buffer = Buffer.alloc(overlap + CHUNK_BYTES)
  for (let carried = 0; ;) {
    signal?.throwIfAborted()
    const { bytesRead } = await file.read(buffer, carried, CHUNK_BYTES)
    if (bytesRead === 0) return
    const end = carried + bytesRead
    yield buffer.subarray(0, end)
    carried = Math.min(overlap, end)
    buffer.copyWithin(0, end - carried, end)
  }
}

export function overwrite(path: string, position: number, text: string) {
  withFile(path, 'r+', file => writeSync(file, text, position))
}

/** Renames a finished file; the new name survives a power failure. */
export function publish(unfinished: string, path: string) {
  syncFile(unfinished)
  renameSync(unfinished, path)
  syncFolder(dirname(path))
}

export function startOf(path: string, length: number): string {
  return withFile(path, 'r', file => {
    const bytes = Buffer.alloc(length)
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, length, 0))
  })
}

/** The name of the file with the digest of another, in the format of `sha256sum`. */
export function digestFile(path: string): string {
  return `${path}.sha256`
}

/** Writes the digest of a file that is to have the name `path`, and is called `unfinished` so far. */
export function writeDigest(path: string, digest: string, unfinishedFile = path) {
  const unfinished = digestFile(unfinishedFile)
  writeFileSync(unfinished, `${digest}  ${basename(path)}\n`, { mode: 0o600 })
  publish(unfinished, digestFile(path))
}

/** The digest that stands beside a file; undefined if there is none. */
export function readDigest(path: string): string | undefined {
  if (!existsSync(digestFile(path))) return undefined
  return /^[0-9a-f]{64}(?= )/.exec(readFileSync(digestFile(path), 'utf8'))?.[0] ?? ''
}

const UNFINISHED = '.unfinished'

/** What the name of the lock file adds to the name of the folder that is locked. */
const LOCK = '.lock'

/** Removes a database with what the engine may have left beside it. */
export function removeDatabase(path: string) {
  for (const ending of ['', '-journal', '-wal', '-shm', '.new']) rmSync(path + ending, { force: true })
}

/**
 * Runs work with a folder for what must not stay on the disk, such as decrypted copies, and removes the folder. Its lock says
 * that it is in use; what killed processes left in `parent` is removed first.
 */
export async function withWorkFolder<Result>(
  parent: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  makeFolders(parent)
  await removeLeftWorkFolders(parent)
  const { folder, release } = lockWorkFolder(parent)
  const remove = () => removeWorkFolder(folder)
  // The process may exit before the work ends, for example when nobody reads its output any more.
  process.once('exit', remove)
  try {
    mkdirSync(folder, { mode: 0o700 })
    return await work(folder)
  } finally {
    process.off('exit', remove)
    try {
      remove()
    } finally {
      // While this process goes on, others remove what it could not.
      await release()
    }
  }
}

/**
 * Runs work that writes a file under an unfinished name, which no other process uses, and then gives it its own (`publish`). Any command
 * removes what a killed process left of it: a work folder in `parent`, where commands look, notes the file. That folder is passed on.
 */
export async function withUnfinished<Result>(
  path: string,
  parent: string,
  work: (unfinished: string, folder: string) => Promise<Result>,
): Promise<Result> {
  return withWorkFolder(parent, async folder => {
    const unfinished = resolve(`${path}${basename(folder).replace(WORK_FOLDER_START, '.')}${UNFINISHED}`)
    // A symbolic link holds the path, because a full disk may still have room for one.
    symlinkSync(unfinished, join(folder, FILE_NOTE))
    // Otherwise a power failure could leave the file, and nothing that names it.
    for (const changed of [folder, dirname(folder)]) syncFolder(changed)
    return work(unfinished, folder)
  })
}

function lockWorkFolder(parent: string) {
  for (;;) {
    const folder = join(resolve(parent), `${WORK_FOLDER_START}${randomBytes(8).toString('hex')}`)
    const release = lockFile(`${folder}${LOCK}`)
    // Another process may have taken the new lock for one that a killed process left.
    if (release !== undefined) return { folder, release }
  }
}

/** What in a work folder names the file that its process writes elsewhere. */
const FILE_NOTE = 'writes'

/** Removes a work folder and the unfinished file that its note names. If the file cannot be removed, the note stays for the next command. */
function removeWorkFolder(folder: string) {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder))
    if (name !== FILE_NOTE) rmSync(join(folder, name), { recursive: true, force: true })
  const note = join(folder, FILE_NOTE)
  if (lstatSync(note, { throwIfNoEntry: false }) !== undefined) removeUnfinished(readlinkSync(note))
  rmSync(folder, { recursive: true })
}

/** Removes an unfinished file and its digest, and the digest that got its name before the file could. */
function removeUnfinished(unfinished: string) {
  removeDatabase(unfinished)
  rmSync(digestFile(unfinished), { force: true })
  const path = unfinished.replace(/\.[0-9a-f]{16}\.unfinished$/, '')
  const digest = digestFile(path)
  if (!existsSync(path) && lstatSync(digest, { throwIfNoEntry: false })?.isFile() === true) rmSync(digest)
}

/**
 * Removes the work folders that no process has locked, and the unfinished files that they name. Those that this user may not
 * remove stay.
 */
export async function removeLeftWorkFolders(parent: string): Promise<void> {
  for (const folder of leftIn(parent)) {
    try {
      const release = lockFile(`${folder}${LOCK}`)
      if (release === undefined) continue
      try {
        removeWorkFolder(folder)
      } finally {
        await release()
      }
    } catch {
      // A file system may be read-only by now.
    }
  }
}

/** In the folder of temporary files there may be those of other users, or what looks like them. */
function leftIn(parent: string): string[] {
  try {
    const names = new Set(readdirSync(parent).flatMap(name => WORK_FOLDER.exec(name)?.[0] ?? []))
    return [...names]
      .map(name => join(resolve(parent), name))
      .filter(folder => isOwn(folder) && isOwn(`${folder}${LOCK}`))
  } catch {
    return []
  }
}

const WORK_FOLDER_START = '.lockstep-'
const WORK_FOLDER = /^\.lockstep-[0-9a-f]{16}(?=$|\.lock$)/

function isOwn(path: string): boolean {
  const user = process.getuid?.()
  return [user, undefined].includes(lstatSync(path, { throwIfNoEntry: false })?.uid)
}

/** The folder of everything but records that stays on this machine: that of an SQLite database, else that of the default one. */
export function dataFolderOf(databaseUrl: string): string {
  return resolve(dirname(sqliteFile(databaseUrl) ?? sqliteFile(settings.databaseUrl.fallback) ?? ''))
}

/** Where work folders are: beside an SQLite database, which holds the same records, else in the folder of temporary files. */
export function workFoldersOf(databaseUrl: string): string {
  const file = sqliteFile(databaseUrl)
  return file === undefined ? tmpdir() : dirname(file)
}
