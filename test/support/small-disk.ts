import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Folder } from './command.ts'
import { type PostgresServer, runSql } from './postgres.ts'

/** Disks that can be full. */

/** Only root can, and not in every container. */
export const canMount =
  spawnSync('sh', [
    '-c',
    'd=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs "$d" && umount "$d"; s=$?; rmdir "$d"; exit $s',
  ]).status === 0

export const CANNOT_MOUNT = 'this machine cannot mount a file system of fixed size'

/** A file system of fixed size in a folder. */
export function mountSmall(folder: Folder, size: string) {
  const path = folder.file('small')
  mkdirSync(path)
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]).status, 0)
  const ballast = join(path, 'ballast')
  return {
    path,
    /** Leaves no room. */
    fill() {
      const { bavail, bsize } = statfsSync(path)
      writeFileSync(ballast, Buffer.alloc(bavail * bsize))
    },
    empty: () => rmSync(ballast),
    [Symbol.asyncDispose]: async () => void spawnSync('umount', ['--lazy', path]),
  }
}

/** The address of an empty database whose tables are on such a disk; what it logs is elsewhere. */
export async function smallDatabase(server: PostgresServer, folder: Folder, disk: { readonly path: string }) {
  // The server runs as another user.
  spawnSync('chown', ['postgres', disk.path])
  spawnSync('chmod', ['a+x', folder.path])
  await runSql(server.url, `create tablespace small location '${disk.path}'`)
  await runSql(server.url, 'create database small tablespace small')
  return server.url.replace(/postgres$/, 'small')
}
