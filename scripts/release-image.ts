import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

interface ImageOrder {
  readonly commit: string
  /** The root file system of a Debian, as tar. */
  readonly base: string
  /** The time that its files and the image have. */
  readonly seconds: number
  /** The archive that is written. */
  readonly to: string
}

const root = join(import.meta.dirname, '..')

/**
 * Builds the image from the Dockerfile of a commit, with no daemon and no registry: its two bases are made from a Debian and the Node.js
 * that runs this, under the names that the Dockerfile has.
 */
export function buildImage({ commit, base, seconds, to }: ImageOrder): string {
  const work = mkdtempSync(join(tmpdir(), 'lockstep-image-'))
  try {
    const source = join(work, 'source')
    mkdirSync(source)
    execFileSync('tar', ['-x', '-C', source], {
      input: execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1 << 28 }),
    })
    // Fetches what the lock file names, so that the build needs no registry.
    execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts'], {
      cwd: source,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const buildah = inStore(work)
    const debian = buildah('from', 'scratch')
    buildah('add', debian, base, '/')
    buildah('commit', '--rm', debian, 'docker.io/library/debian:trixie-slim')
    const node = buildah('from', '--pull=never', 'docker.io/library/debian:trixie-slim')
    buildah('copy', node, process.execPath, '/usr/local/bin/node')
    buildah('copy', node, npmFolder(), '/usr/local/lib/node_modules/npm')
    buildah('run', node, '--', 'ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm')
    buildah('run', node, '--', 'sh', '-c', 'mkdir -p /usr/local/etc && echo offline=true > /usr/local/etc/npmrc')
    buildah('commit', '--rm', node, 'docker.io/library/node:26-trixie-slim')
    const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
    const build = [
      '--pull=never',
      '--volume',
      `${cache}:/root/.npm`,
      '--timestamp',
      String(seconds),
      '--tag',
      'lockstep',
    ]
    buildah('build', ...build, source)
    rmSync(to, { force: true })
    buildah('push', 'lockstep', `oci-archive:${to}:lockstep`)
    return to
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Runs buildah with images of its own, and returns what it prints. */
export function inStore(folder: string) {
  const own = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  return (command: string, ...args: readonly string[]) =>
    execFileSync('buildah', [...own, command, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
      maxBuffer: 1 << 26,
    }).trim()
}

/** The npm of this machine, with its dependencies. */
function npmFolder(): string {
  const program = execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim()
  return dirname(dirname(program))
}
