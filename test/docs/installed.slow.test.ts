// engine: sqlite
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { buildImage, inStore } from '../../scripts/release-image.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { sweep } from '../support/sweeps.ts'

/** What `npm run release` makes, on a Debian that has nothing else: the image, the package and the tarball. */

const repository = join(import.meta.dirname, '../..')
const programs = ['mmdebstrap', 'buildah', 'lintian', 'unshare', 'dpkg-deb']
const missing = programs.filter(name => spawnSync('which', [name]).status !== 0)
const isUsable = missing.length === 0 && process.getuid?.() === 0 && existsSync(join(repository, '.git'))
const skip = isUsable || process.env['CI'] === 'true' ? false : `needs root, a history, and ${programs.join(', ')}`

const MAX_IMAGE_BYTES = 240e6
const MAX_IMAGE_ARCHIVE_BYTES = 90e6
const ARCHIVE = [...sampleArchive(Date.now())].map(line => `${line}\n`).join('')

describe('on a Debian that has nothing else', { skip }, () => {
  let folder: Folder
  before(async () => {
    folder = await makeFolder()
    mkdirSync(folder.file('tmp'))
    const slim = ['man', 'locale', 'info'].map(name => `--dpkgopt=path-exclude=/usr/share/${name}/*`)
    // Waiting for the disk after each file takes most of the time of dpkg.
    const options = [...slim, '--dpkgopt=force-unsafe-io']
    const base = ['--variant=minbase', '--include=libatomic1', ...options, 'trixie', folder.file('base.tar')]
    // What it mounts ends with it.
    execFileSync('unshare', ['-m', 'mmdebstrap', ...base], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: folder.file('tmp') },
    })
    release(folder, 'new', { base: folder.file('base.tar') })
  })
  after(async () => {
    // Those that a test which failed has left.
    for (const child of children) child.kill('SIGKILL')
    await folder[Symbol.asyncDispose]()
  })

  test('the image serves, imports and stops on a read-only file system, as any user, and has its size', async () => {
    const archive = made(folder, 'new', '.oci.tar')
    assert.ok(statSync(archive).size <= MAX_IMAGE_ARCHIVE_BYTES, `${statSync(archive).size} bytes`)
    using image = openImage(folder, 'image', archive)
    const bytes = Number(execFileSync('du', ['-sb', image.root], { encoding: 'utf8' }).split('\t')[0])
    assert.ok(bytes <= MAX_IMAGE_BYTES, `${bytes} bytes`)

    for (const uid of [10_001, 4711]) {
      const run = image.as(uid)
      const { service, url } = await started(run())
      assert.equal((await fetch(`${url}/readyz`)).status, 200)
      for (const path of ['/signin', '/docs', '/docs/console', '/assets/dashboard.css', '/openapi.json', '/client.js'])
        assert.equal((await fetch(url + path)).status, 200, path)
      const env = { LOCKSTEP_PORT: new URL(url).port }
      assert.equal((await ended(run({ command: healthCheck(), env }))).code, 0)
      assert.equal((await ended(run({ args: ['import', '-'] }), ARCHIVE)).code, 0)
      const key = await ended(run({ args: ['key', 'create', '--account', 'alex', '--name', 'test'] }))
      const list = await fetch(`${url}/api/v1/dtt/sessions`, {
        headers: { Authorization: `Bearer ${key.stdout.trim()}` },
      })
      assert.equal(list.status, 200)
      service.kill('SIGTERM')
      assert.deepEqual(await once(service, 'exit'), [0, null])
    }
  })

  // Building another image takes minutes.
  if (sweep(0, 1) === 1)
    test('the image upgrades the data of an image of the first version', async () => {
      const old = buildImage({
        commit: FIRST,
        base: folder.file('base.tar'),
        seconds: 0,
        to: folder.file('first.oci.tar'),
      })
      using first = openImage(folder, 'first', old)
      using image = openImage(folder, 'upgraded', made(folder, 'new', '.oci.tar'))
      const uid = 10_001
      assert.equal((await ended(first.as(uid)({ args: ['import', '-'] }), ARCHIVE)).code, 0)
      const run = image.as(uid, first.dataOf(uid))
      const { service, url } = await started(run())
      const key = await ended(run({ args: ['key', 'create', '--account', 'alex', '--name', 'test'] }))
      const list = await fetch(`${url}/api/v1/lkbx/sessions`, {
        headers: { Authorization: `Bearer ${key.stdout.trim()}` },
      })
      assert.equal(((await list.json()) as { data: { data: object[] } }).data.data.length > 0, true)
      service.kill('SIGTERM')
      assert.deepEqual(await once(service, 'exit'), [0, null])
    })

  test('the package installs, upgrades with data and edited settings, and leaves the data when it is purged', async () => {
    const oldest = git('log', '--reverse', '--format=%H', '--', 'deploy/debian/control').split('\n')[0] ?? ''
    git('clone', '--quiet', '--shared', '--no-checkout', repository, folder.file('source'))
    execFileSync('git', ['-C', folder.file('source'), 'checkout', '--quiet', oldest])
    release(folder, 'old', { source: folder.file('source') })
    const root = extract(folder, 'package')
    for (const name of ['old', 'new']) cpSync(made(folder, name, '.deb'), join(root, `tmp/${name}.deb`))
    const inside = (script: string) => ended(inRoot(root, ['sh', '-ec', script]))
    const data = async () => (await inside('lockstep account list')).stdout
    const install =
      'export DEBIAN_FRONTEND=noninteractive; apt-get -q update; apt-get -q install -y --no-install-recommends'
    const installed = await inside(`${install} /tmp/old.deb`)
    assert.equal(installed.code, 0, installed.stderr)
    const account = 'lockstep account add --username alex --tier ultra; lockstep key create --account alex --name first'
    const { code, stdout: key } = await inside(`echo '# mine' >> /etc/lockstep/lockstep.env; ${account}`)
    assert.equal(code, 0)

    const upgraded = await inside('dpkg -i /tmp/new.deb; tail -n 1 /etc/lockstep/lockstep.env')
    assert.deepEqual([upgraded.code, upgraded.stdout.endsWith('# mine\n')], [0, true], upgraded.stderr)
    assert.match(await data(), /alex +ultra/)
    const units = 'lockstep.service lockstep-{pull,backup}.{service,timer} lockstep-homeassistant.service'
    const verified = await ended(inRoot(root, ['bash', '-c', `systemd-analyze verify ${units}`]))
    assert.deepEqual([verified.code, verified.stderr], [0, ''])
    const disabled = await inside('systemctl is-enabled lockstep.service lockstep-backup.timer || true')
    assert.equal(disabled.stdout, 'disabled\ndisabled\n')

    const command =
      /^ExecStart=(.*)$/m.exec((await inside('cat /usr/lib/systemd/system/lockstep.service')).stdout)?.[1] ?? ''
    const environment = 'LOCKSTEP_DATABASE_URL=sqlite:/var/lib/lockstep/lockstep.db LOCKSTEP_PORT=0'
    const serve = `cd /var/lib/lockstep; exec setpriv --reuid lockstep --regid lockstep --clear-groups env ${environment} ${command}`
    const { service, url } = await started(inRoot(root, ['sh', '-ec', serve]))
    const secret = /lks_\w+/.exec(key)?.[0]
    assert.equal((await fetch(`${url}/api/v1/me`, { headers: { Authorization: `Bearer ${secret}` } })).status, 200)
    service.kill('SIGTERM')
    assert.deepEqual(await once(service, 'exit'), [0, null])

    const downgraded = await inside('dpkg -i /tmp/old.deb')
    assert.match(downgraded.stderr, /restore a backup made before the upgrade/)
    const database = join(root, 'var/lib/lockstep/lockstep.db')
    assert.equal((await inside('dpkg --remove lockstep')).code, 0)
    assert.ok(existsSync(database) && existsSync(join(root, 'etc/lockstep/lockstep.env')))
    const purged = await inside('dpkg --purge lockstep')
    assert.match(purged.stdout, /the records in \/var\/lib\/lockstep .* are still there/)
    assert.ok(
      existsSync(database) && !existsSync(join(root, 'etc/lockstep')) && !existsSync(join(root, 'usr/lib/lockstep')),
    )
  })

  test('lintian finds no error in the package', async () => {
    const { code, stdout } = await ended(spawn('lintian', ['--fail-on', 'error', made(folder, 'new', '.deb')]))
    assert.equal(code, 0, stdout)
  })

  test('the tarball runs where it is unpacked, and says which library a system lacks', async () => {
    const root = extract(folder, 'tarball')
    execFileSync('tar', ['-xzf', made(folder, 'new', '.tar.gz'), '-C', join(root, 'srv'), '--strip-components=1'])
    const { service, url } = await started(inRoot(root, ['sh', '-c', 'cd /srv; exec ./lockstep serve --port 0']))
    assert.equal((await fetch(`${url}/signin`)).status, 200)
    service.kill('SIGTERM')
    assert.deepEqual(await once(service, 'exit'), [0, null])
    const libraries = join(root, 'usr/lib/x86_64-linux-gnu')
    for (const name of readdirSync(libraries).filter(name => name.startsWith('libatomic')))
      renameSync(join(libraries, name), join(root, 'tmp', name))
    const { code, stderr } = await ended(inRoot(root, ['/srv/lockstep', '--version']))
    assert.equal(code, 3)
    assert.match(stderr, /on Debian, run: apt install libatomic1/)
  })
})

/** The commit whose data every later version reads. */
const FIRST = '016bb79'

/** Makes the files of a release in a folder of this name: of a checkout, with the image if there is a base for it. */
function release(
  folder: Folder,
  name: string,
  { source = repository, base }: { readonly source?: string; readonly base?: string },
) {
  const args = [join(source, 'scripts/release.ts'), '--platform', 'x64', '--to', folder.file(name)]
  execFileSync(process.execPath, base === undefined ? args : [...args, '--base', base], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: folder.file('tmp') },
  })
}

function made(folder: Folder, name: string, ending: string): string {
  const found = readdirSync(folder.file(name)).find(file => file.endsWith(ending))
  return folder.file(`${name}/${found}`)
}

/** A root of its own, as `mmdebstrap` made it. */
function extract(folder: Folder, name: string): string {
  const root = folder.file(name)
  mkdirSync(root)
  execFileSync('tar', ['-xf', folder.file('base.tar'), '-C', root])
  return root
}

const children: ReturnType<typeof spawn>[] = []

interface InRoot {
  readonly uid?: number
  /** The folder that is the only writable one, and where it is. */
  readonly data?: readonly [from: string, to: string]
}

/** Runs a command in a root, in the process that is started, so that signals reach it. */
function inRoot(root: string, command: readonly string[], { uid = 0, data }: InRoot = {}) {
  const mounts = ['mount --rbind /proc "$root/proc"', 'mount --rbind /dev "$root/dev"']
  const readOnly = ['mount --bind "$root" "$root"', 'mount -o remount,bind,ro "$root"']
  const isolated = data === undefined ? mounts : [...readOnly, ...mounts, 'mount --bind "$from" "$to"']
  const script = [...isolated, `exec setpriv --no-new-privs chroot --userspec=${uid}:${uid} "$root" "$@"`].join(' && ')
  const [from = '', to = ''] = data ?? []
  const child = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', ...command], {
    env: { PATH: process.env['PATH'], HOME: '/root', root, from, to: join(root, to) },
  })
  children.push(child)
  return child
}

interface Order {
  readonly args?: readonly string[]
  readonly command?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** An image whose file system is mounted; its commands run as its configuration says. */
function openImage(folder: Folder, name: string, archive: string) {
  mkdirSync(folder.file(name))
  const buildah = inStore(folder.file(name))
  const container = buildah('from', `oci-archive:${archive}`)
  const root = buildah('mount', container)
  const { OCIv1: image } = JSON.parse(buildah('inspect', container)) as { OCIv1: { config: ImageConfig } }
  const { Env, Entrypoint, Cmd, WorkingDir, User, Volumes } = image.config
  assert.equal(User, '10001:10001')
  const [volume = ''] = Object.keys(Volumes)
  const dataOf = (uid: number) => folder.file(`${name}/data-${uid}`)
  return {
    root,
    dataOf,
    as(uid: number, data = dataOf(uid)) {
      mkdirSync(data, { recursive: true, mode: 0o700 })
      chownSync(data, uid, uid)
      return ({ args = Cmd, command = [...Entrypoint, ...args], env = {} }: Order = {}) => {
        const all = [...Env, 'LOCKSTEP_PORT=0', ...Object.entries(env).map(([key, value]) => `${key}=${value}`)]
        return inRoot(root, ['env', '-i', '-C', WorkingDir, ...all, ...command], { uid, data: [data, volume] })
      }
    },
    [Symbol.dispose]() {
      buildah('umount', container)
    },
  }
}

interface ImageConfig {
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly User: string
  readonly Volumes: Readonly<Record<string, object>>
}

/** Images of this format have none of their own. */
function healthCheck(): readonly string[] {
  const [, command = '[]'] =
    /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(readFileSync(join(repository, 'Dockerfile'), 'utf8')) ?? []
  return JSON.parse(command) as string[]
}

/** The output of a command, when it has ended. */
async function ended(child: ReturnType<typeof spawn>, input = '') {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name]?.on('data', text => (output[name] += String(text)))
  child.stdin?.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

/** A service that listens, and the address at which this machine sees it. */
function started(service: ReturnType<typeof spawn>) {
  return new Promise<{ service: typeof service; url: string }>((resolve, reject) => {
    let said = ''
    const note = (text: unknown) => {
      said += String(text)
      const port = /Listening on http:\/\/[\d.]+:(\d+)/.exec(said)?.[1]
      if (port !== undefined) resolve({ service, url: `http://127.0.0.1:${port}` })
    }
    service.stdout?.on('data', note)
    service.stderr?.on('data', note)
    service.once('exit', () => reject(new Error(`the service ended: ${said}`)))
  })
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' }).trim()
}
