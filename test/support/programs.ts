import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** The programs of the machine that tests run. */

/** Debian has some where only root looks for them. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']

/** Where a program is; undefined if the machine lacks it. */
export function programPath(name: string): string | undefined {
  return FOLDERS.map(folder => join(folder, name)).find(path => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Options of a test that runs these: without one of them it is skipped by name, which CI counts as a failure. */
export function needs(...names: readonly string[]): { readonly skip: string | false } {
  const missing = names.filter(name => programPath(name) === undefined)
  return { skip: missing.length > 0 && `missing: ${missing.join(', ')}` }
}
