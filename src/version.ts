import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }

/** The version of the program. Strangers are not told. */
export const { version } = packageJson

/** How a pull introduces itself to the server that it reads from. */
export const USER_AGENT = `Lockstep/${version}`

/** The commit that the program was built from, or that is checked out; undefined if neither is known. */
export function findCommit(): string | undefined {
  const built = 'gitHead' in packageJson ? String(packageJson.gitHead) : undefined
  const root = join(import.meta.dirname, '..')
  // Without this check git would also look in the folders above.
  if (built !== undefined || !existsSync(join(root, '.git'))) return built
  try {
    return execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined
  }
}
