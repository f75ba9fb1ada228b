import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  mkdirSync,
  writeSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { isShipped } from './release-files.ts'

/**
 * Removes from a folder with a program and its packages what it does not need to run: a third of the size.
 *
 *     node scripts/trim.ts <folder>
 */
export function trim(folder: string) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => !entry.isDirectory())
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name)
    if (!isShipped(relative(folder, path))) rmSync(path)
  }
  const packages = join(folder, 'node_modules')
  rmSync(join(packages, '.bin'), { recursive: true, force: true })
  mkdirSync(join(packages, '.bin'))
  for (const name of readdirSync(packages).filter(name => name.startsWith('node-linux-'))) {
    symlinkSync(`../${name}/bin/node`, join(packages, '.bin/node'))
    removeSymbols(join(packages, name, 'bin/node'))
  }
}

/** Cuts from a 64-bit ELF file what only debuggers read: everything behind its segments, and the table of sections. */
function removeSymbols(path: string) {
  const file = openSync(path, 'r+')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(file, header, 0, HEADER_BYTES, 0)
    if (header.readUInt32BE(0) !== ELF_MAGIC) throw new Error(`${path} is no ELF file`)
    const tableAt = Number(header.readBigUInt64LE(32))
    const [entryBytes, entries] = [header.readUInt16LE(54), header.readUInt16LE(56)]
    const table = Buffer.alloc(entryBytes * entries)
    readSync(file, table, 0, table.length, tableAt)
    const ends = Array.from({ length: entries }, (_, index) => {
      const at = index * entryBytes
      return Number(table.readBigUInt64LE(at + 8) + table.readBigUInt64LE(at + 32))
    })
    // Where the table of sections is, how many it has, and which one has their names.
    header.fill(0, 40, 48)
    header.fill(0, 60, 64)
    writeSync(file, header, 0, HEADER_BYTES, 0)
    ftruncateSync(file, Math.max(HEADER_BYTES, tableAt + table.length, ...ends))
  } finally {
    closeSync(file)
  }
}

const HEADER_BYTES = 64
const ELF_MAGIC = 0x7f454c46

const [folder] = process.argv.slice(2)
if (import.meta.main && folder !== undefined) {
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is no folder`)
  trim(folder)
}
