import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

interface ImageOrder {
  readonly commit: string
  /** The root file systems of a Debian, as tar, by the names that Debian has for processors. That of this machine is one of them. */
  readonly bases: Readonly<Record<string, string>>
  /** The time that its files and the image have. */
  readonly seconds: number
  /** The archive that is written. */
  readonly to: string
}

const root = join(import.meta.dirname, '..')
const run = promisify(execFile)

/** What this machine lacks for the image. */
export function whyNoImage(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can make it'
  const missing = ['mmdebstrap', 'buildah', 'unshare'].filter(name => spawnSync('which', [name]).status !== 0)
  return missing.length === 0 ? undefined : `it needs ${missing.join(', ')}`
}

/**
 * Makes the root file system of a small Debian for a processor, as tar, whose files are not newer than `seconds`. For another processor
 * than that of this machine, the scripts of packages run here, with the root as read-only as it can be: they support that, and nothing
 * needs emulation.
 */
export async function makeBase(architecture: string, to: string, seconds: number): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'lockstep-base-'))
  const isForeign = architecture !== ARCHITECTURES[process.arch]
  const mounts = ['mount --bind "$0" "$0"', 'mount -o remount,bind,ro /']
  const script = [...(isForeign ? mounts : []), 'exec mmdebstrap "$@"'].join(' && ')
  const mode = isForeign ? ['--mode=chrootless', '--skip=check/chrootless'] : []
  const slim = ['man', 'locale', 'info'].map(name => `/usr/share/${name}`)
  const options = [
    '--variant=minbase',
    `--architectures=${architecture}`,
    ...mode,
    ...(isForeign ? [] : slim.map(folder => `--dpkgopt=path-exclude=${folder}/*`)),
    ...slim.map(folder => `--customize-hook=rm -rf "$1"${folder}/*`),
    // Waiting for the disk after each file takes most of the time of dpkg.
    '--dpkgopt=force-unsafe-io',
    'trixie',
    join(work, 'base.tar'),
  ]
  try {
    // What it mounts ends with it.
    const env = { ...process.env, TMPDIR: work, SOURCE_DATE_EPOCH: String(seconds) }
    await run('unshare', ['-m', 'sh', '-c', script, work, ...options], { env })
    copyFileSync(join(work, 'base.tar'), `${to}.part`)
    renameSync(`${to}.part`, to)
  } finally {
    rmSync(work, { recursive: true })
  }
}

/**
 * Builds the image from the Dockerfile of a commit for each processor, with no daemon and no registry: its two bases are made from a
 * Debian and the Node.js that runs this, under the names that the Dockerfile has. The packages have to be in the cache of npm.
 */
export function buildImage({ commit, bases, seconds, to }: ImageOrder): string {
  const work = mkdtempSync(join(tmpdir(), 'lockstep-image-'))
  try {
    const source = join(work, 'source')
    mkdirSync(source)
    execFileSync('tar', ['-x', '-C', source], {
      input: execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1 << 28 }),
    })
    // The version then names it.
    const manifest = join(source, 'package.json')
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), gitHead: commit }, null, 2))
    const buildah = inStore(work)
    const own = ARCHITECTURES[process.arch] ?? ''
    const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
    const shared = [
      '--pull=never',
      '--format',
      'docker',
      '--volume',
      `${cache}:/root/.npm`,
      '--timestamp',
      String(seconds),
    ]
    const images: Image[] = []
    for (const architecture of [own, ...Object.keys(bases).filter(name => name !== own)]) {
      const debian = buildah('from', '--arch', architecture, 'scratch')
      buildah('add', debian, bases[architecture] ?? '', '/')
      buildah('config', '--arch', architecture, debian)
      buildah('commit', '--rm', '--timestamp', String(seconds), debian, DEBIAN)
      if (architecture === own) addNode(buildah)
      const platforms = ['--platform', `linux/${architecture}`, '--build-arg', `BUILDPLATFORM=linux/${own}`]
      buildah('build', ...shared, ...platforms, '--tag', architecture, source)
      const folder = join(work, architecture)
      buildah('push', '--format', 'oci', architecture, `oci:${folder}`)
      const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', architecture)) as Inspected
      images.push({ folder, architecture, healthCheck: Docker.config.Healthcheck })
    }
    packImages(join(work, 'archive'), images, { to, seconds })
    return to
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** What Debian calls the processors that Node.js has these names for. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

const DEBIAN = 'docker.io/library/debian:trixie-slim'

/** Makes the image of Node.js that the Dockerfile starts from, with the npm of this machine. */
function addNode(buildah: Buildah) {
  const node = buildah('from', '--pull=never', DEBIAN)
  const [, library = ''] =
    /libatomic\S* => (\S+)/.exec(execFileSync('ldd', [process.execPath], { encoding: 'utf8' })) ?? []
  buildah('copy', node, library, '/usr/local/lib/libatomic.so.1')
  buildah('copy', node, process.execPath, '/usr/local/bin/node')
  buildah('copy', node, npmFolder(), '/usr/local/lib/node_modules/npm')
  const finish = [
    'ldconfig',
    'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
    'mkdir -p /usr/local/etc',
    'echo offline=true > /usr/local/etc/npmrc',
  ]
  buildah('run', node, '--', 'sh', '-c', finish.join(' && '))
  buildah('commit', '--rm', node, 'docker.io/library/node:26-trixie-slim')
}

/** The npm of this machine, with its dependencies. */
function npmFolder(): string {
  const program = execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim()
  return dirname(dirname(program))
}

type Buildah = (command: string, ...args: readonly string[]) => string

/** Runs buildah with images of its own, and returns what it prints. */
export function inStore(folder: string): Buildah {
  const own = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  return (command, ...args) =>
    execFileSync('buildah', [...own, command, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
      maxBuffer: 1 << 26,
    }).trim()
}

interface Inspected {
  readonly Docker: { readonly config: { readonly Healthcheck: object } }
}

interface Image {
  /** Its OCI layout. */
  readonly folder: string
  readonly architecture: string
  readonly healthCheck: object
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

/**
 * Puts the images into one archive: an OCI layout, in which a program finds the image of its processor, and the list of files that
 * Docker without containerd reads, with the image of this machine. buildah leaves the health check out of OCI images; it is
 * put back, because Docker reads it.
 */
function packImages(folder: string, images: readonly Image[], { to, seconds }: Pick<ImageOrder, 'to' | 'seconds'>) {
  const blobs = join(folder, 'blobs/sha256')
  mkdirSync(blobs, { recursive: true })
  const add = (content: object, mediaType: string): Descriptor => {
    const bytes = JSON.stringify(content)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    writeFileSync(join(blobs, sha256), bytes)
    return { mediaType, digest: `sha256:${sha256}`, size: Buffer.byteLength(bytes) }
  }
  const manifests = images.map(image => {
    const read = (digest: string) => JSON.parse(readFileSync(join(image.folder, pathOf(digest)), 'utf8')) as unknown
    const layout = JSON.parse(readFileSync(join(image.folder, 'index.json'), 'utf8')) as { manifests: Descriptor[] }
    const manifest = read(layout.manifests[0]?.digest ?? '') as Manifest
    for (const { digest } of manifest.layers)
      renameSync(join(image.folder, pathOf(digest)), join(folder, pathOf(digest)))
    const config = read(manifest.config.digest) as { readonly config: object }
    const whole = { ...config, config: { ...config.config, Healthcheck: image.healthCheck } }
    return { ...manifest, mediaType: MANIFEST, config: add(whole, manifest.config.mediaType) }
  })
  const index = {
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: manifests.map((manifest, at) => ({
      ...add(manifest, MANIFEST),
      platform: { architecture: images[at]?.architecture, os: 'linux' },
    })),
  }
  const names = {
    'io.containerd.image.name': 'docker.io/library/lockstep:latest',
    'org.opencontainers.image.ref.name': 'lockstep',
  }
  const entry = { ...add(index, INDEX), annotations: names }
  const [first] = manifests
  const files = {
    'oci-layout': { imageLayoutVersion: '1.0.0' },
    'index.json': { schemaVersion: 2, mediaType: INDEX, manifests: [entry] },
    'manifest.json': [
      {
        Config: pathOf(first?.config.digest ?? ''),
        RepoTags: ['lockstep:latest'],
        Layers: first?.layers.map(({ digest }) => pathOf(digest)),
      },
    ],
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content))
  const owners = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu', '--mode=go=rX,u=rwX']
  rmSync(to, { force: true })
  execFileSync('tar', ['-cf', to, ...owners, `--mtime=@${seconds}`, '-C', folder, ...Object.keys(files), 'blobs'])
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'
