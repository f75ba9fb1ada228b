import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }

/** The version of the program. Strangers are not told. */
export const { version } = packageJson

/** How a pull introduces itself to the server that it reads from. */
export const USER_AGENT = `Lockstep/${version}`

const home = join(import.meta.dirname, '..')

/** How people run the program of a folder: these two have a command on the path, `deploy/lockstep-command`. */
export function commandOf(folder: string): string {
  return ['/opt/lockstep', '/usr/lib/lockstep'].includes(folder) ? 'lockstep' : './lockstep'
}

/** How people run this program. */
export const ownCommand = commandOf(home)

/** The commit that the program was built from, or that is checked out; undefined if neither is known. */
export function findCommit(): string | undefined {
  const built = 'gitHead' in packageJson ? String(packageJson.gitHead) : undefined
  // Without this check git would also look in the folders above.
  if (built !== undefined || !existsSync(join(home, '.git'))) return built
  try {
    return execFileSync('git', ['-C', home, 'rev-parse', 'HEAD'], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined
  }
}
