import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import packageJson from '../package.json' with { type: 'json' }
import { makeManual } from './manual.ts'
import { compareNode } from './node-origin.ts'
import { makeProgram } from './program.ts'
import { buildImage, makeBase, whyNoImage } from './release-image.ts'

const HELP = `Makes what is handed out: for each platform a tarball and a Debian package, a list of the parts, an image, and the hashes.

Usage: npm run release -- [options]

  --to <folder>      where to put it (default: dist)
  --only <parts>     some of tarball,package,parts,image,node, separated by commas (default: all)
  --platform <cpu>   x64 or arm64 (default: both)
  --commit <commit>  what to build (default: HEAD)
  --node-from <url>  where the official builds of Node.js are (default: https://nodejs.org/dist)
  --help             show this help

The part node compares Node.js with its official build. The image needs root, mmdebstrap and buildah.`

/*
 * The same commit gives the same bytes on every machine that has the same tar, gzip and dpkg-deb. As root, with mmdebstrap and buildah, it
 * also makes the image, as an archive, from the root file system of a Debian for each platform (dist/bases/amd64.tar). Those that are
 * missing are made and stay, because the image depends on their bytes.
 */

interface Platform {
  /** As npm names it. */
  readonly cpu: string
  readonly debian: string
}

const PLATFORMS: readonly Platform[] = [
  { cpu: 'x64', debian: 'amd64' },
  { cpu: 'arm64', debian: 'arm64' },
]
const COMPOSE = ['compose.yaml', 'compose.postgres.yaml']
const PARTS = ['tarball', 'package', 'parts', 'image', 'node']

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const options = readOptions()
const commit = git('rev-parse', '--verify', `${options.commit}^{commit}`)
const seconds = Number(git('show', '--no-patch', '--format=%ct', commit))
const stamp = new Date(seconds * 1000).toISOString().replaceAll(/\D/g, '').slice(0, 14)
// Debian takes `~` for what comes before a release.
const debianVersion = `${packageJson.version.replace('-', '~')}+${stamp}.${commit.slice(0, 8)}`
const to = resolve(options.to)
const only = options.only.split(',')
const platforms = PLATFORMS.filter(({ cpu }) => options.platform === undefined || cpu === options.platform)
const SORTED = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu', `--mtime=@${seconds}`]

mkdirSync(to, { recursive: true })
const lacking = only.includes('image') ? whyNoImage() : undefined
if (lacking !== undefined) say(`no image: ${lacking}`)
const hasImage = only.includes('image') && lacking === undefined
try {
  const bases = hasImage ? await findBases(join(to, 'bases')) : {}
  const made = (await Promise.all(platforms.map(platform => makeFiles(platform, bases)))).flat()
  if (hasImage) {
    say('image: building it')
    made.push(buildImage({ commit, bases, seconds, to: join(to, `lockstep-${packageJson.version}.oci.tar`) }))
  }
  const sums = made.map(
    file => `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${relative(to, file)}\n`,
  )
  writeFileSync(join(to, 'SHA256SUMS'), sums.toSorted().join(''))
  for (const file of made) console.log(`${relative(process.cwd(), file)}: ${(statSync(file).size / 1e6).toFixed(1)} MB`)
} catch (error) {
  // Of a program, what it said is the reason.
  const said = error instanceof Error && 'stderr' in error ? `\n${String(error.stderr).trim()}` : ''
  say(`failed: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}${said}`)
  process.exit(1)
}

function readOptions() {
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      options: {
        to: { ...text, default: join(root, 'dist') },
        only: { ...text, default: PARTS.join(',') },
        platform: text,
        commit: { ...text, default: 'HEAD' },
        'node-from': { ...text, default: 'https://nodejs.org/dist' },
        help: { type: 'boolean' },
      },
    })
    if (values.help === true) {
      console.log(HELP)
      process.exit()
    }
    const unknown = values.only.split(',').find(part => !PARTS.includes(part))
    if (unknown !== undefined) throw new Error(`there is no part '${unknown}'`)
    if (values.platform !== undefined && PLATFORMS.every(({ cpu }) => cpu !== values.platform))
      throw new Error(`there is no platform '${values.platform}'`)
    return values
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    process.exit(2)
  }
}

function say(line: string) {
  console.error(`release: ${line}`)
}

/** The files of a platform. */
async function makeFiles(platform: Platform, bases: Readonly<Record<string, string>>): Promise<string[]> {
  const { cpu } = platform
  const work = mkdtempSync(join(tmpdir(), 'lockstep-release-'))
  try {
    const checkout = join(work, 'checkout')
    await checkOut(checkout, cpu)
    if (only.includes('node'))
      say(await compareNode(join(checkout, `node_modules/node-linux-${cpu}`), options['node-from']))
    say(`${cpu}: bundling the program`)
    const program = join(work, `lockstep-${packageJson.version}-linux-${cpu}`)
    mkdirSync(program)
    await makeProgram(checkout, program, cpu)
    for (const path of ['CHANGELOG.md', 'README.md', 'deploy'])
      cpSync(join(checkout, path), join(program, path), { recursive: true })
    // They use the image of the release: there is nothing here to build one from.
    for (const file of COMPOSE)
      writeFileSync(join(program, file), readFileSync(join(checkout, file), 'utf8').replaceAll(/^ *build: \.\n/gm, ''))
    mkdirSync(join(program, 'docs'))
    for (const page of globSync('docs/*.md', { cwd: checkout })) cpSync(join(checkout, page), join(program, page))
    mendLinks(program)
    settle(program)
    say(`${cpu}: packing ${only.join(', ')}`)
    const files = []
    if (only.includes('tarball')) files.push(pack(program))
    if (only.includes('package')) files.push(packDebian(join(work, 'debian'), program, platform))
    // The parts of all platforms are the same.
    if (only.includes('parts') && platform === platforms[0]) files.push(listParts(checkout, bases))
    return await Promise.all(files)
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** The bases of the image by architecture. */
async function findBases(folder: string): Promise<Readonly<Record<string, string>>> {
  mkdirSync(folder, { recursive: true })
  const found = platforms.map(({ debian }) => [debian, join(folder, `${debian}.tar`)] as const)
  await Promise.all(found.filter(([, file]) => !existsSync(file)).map(([name, file]) => makeBase(name, file, seconds)))
  return Object.fromEntries(found)
}

/** Puts what is committed, and the packages that the lock file names, into a folder. */
async function checkOut(folder: string, cpu: string) {
  mkdirSync(folder)
  const archive = execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1 << 28 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  say(`${cpu}: installing its packages`)
  const target = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc']
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund', ...target], {
    cwd: folder,
  })
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, gitHead: commit }, null, 2)}\n`)
}

async function pack(program: string): Promise<string> {
  const file = join(to, `${relative(join(program, '..'), program)}.tar.gz`)
  const tar = [...SORTED, '--exclude=deploy/debian', '-C', join(program, '..'), relative(join(program, '..'), program)]
  await run('sh', ['-c', 'out=$1; shift; tar -c "$@" | gzip -n > "$out"', 'sh', file, ...tar])
  return file
}

/** The same files where Debian has them, with units, settings and a user. */
async function packDebian(folder: string, program: string, { debian }: Platform): Promise<string> {
  const at = (path: string) => join(folder, path)
  const installed = at('usr/lib/lockstep')
  for (const path of [
    'DEBIAN',
    'usr/bin',
    'usr/lib/systemd/system',
    'usr/lib/systemd/system-preset',
    'usr/lib/sysusers.d',
    'usr/lib/tmpfiles.d',
    'usr/share/bash-completion/completions',
    'usr/share/doc/lockstep/examples',
    'usr/share/lintian/overrides',
    'usr/share/man/man1',
    'etc/lockstep',
  ])
    mkdirSync(at(path), { recursive: true })
  cpSync(program, installed, { recursive: true, verbatimSymlinks: true })
  const samples = join(installed, 'deploy')
  const adapt = (name: string, path: string) =>
    writeFileSync(at(path), moved(readFileSync(join(samples, name), 'utf8')))
  adapt('lockstep-command', 'usr/bin/lockstep')
  for (const unit of readdirSync(samples).filter(name => /\.(service|timer)$/.test(name)))
    adapt(unit, `usr/lib/systemd/system/${unit}`)
  for (const sample of readdirSync(samples).filter(name => /^(nginx|Caddyfile|haproxy)/.test(name)))
    adapt(sample, `usr/share/doc/lockstep/examples/${sample}`)
  adapt('debian/preset', 'usr/lib/systemd/system-preset/50-lockstep.preset')
  adapt('debian/sysusers.conf', 'usr/lib/sysusers.d/lockstep.conf')
  adapt('debian/tmpfiles.conf', 'usr/lib/tmpfiles.d/lockstep.conf')
  adapt('debian/lockstep.env', 'etc/lockstep/lockstep.env')
  adapt('debian/README.Debian', 'usr/share/doc/lockstep/README.Debian')
  adapt('debian/lintian-overrides', 'usr/share/lintian/overrides/lockstep')
  const changes = readFileSync(join(samples, 'debian/changelog'), 'utf8')
    .replace('@VERSION@', debianVersion)
    .replace('@DATE@', new Date(seconds * 1000).toUTCString().replace('GMT', '+0000'))
  const gzip = (path: string, input: string) => writeFileSync(at(path), execFileSync('gzip', ['-9n'], { input }))
  gzip('usr/share/doc/lockstep/changelog.gz', changes)
  const cli = join(installed, 'src/cli.js')
  gzip('usr/share/man/man1/lockstep.1.gz', await makeManual(cli, new Date(seconds * 1000)))
  const completion = await run(process.execPath, [cli, 'completion', 'bash'], { env: { PATH: process.env['PATH'] } })
  writeFileSync(at('usr/share/bash-completion/completions/lockstep'), completion.stdout)
  cpSync(join(installed, 'LICENSE'), at('usr/share/doc/lockstep/copyright'))
  // Units name these pages.
  cpSync(join(installed, 'docs'), at('usr/share/doc/lockstep'), { recursive: true })
  rmSync(join(installed, 'docs'), { recursive: true })
  for (const file of ['CHANGELOG.md', 'THIRD-PARTY-LICENSES'])
    renameSync(join(installed, file), at(`usr/share/doc/lockstep/${file}`))
  for (const file of COMPOSE) rmSync(join(installed, file))
  mendLinks(at('usr/share/doc/lockstep'))
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm'])
    writeFileSync(
      at(`DEBIAN/${script}`),
      readFileSync(join(samples, `debian/${script}`), 'utf8').replaceAll('@VERSION@', debianVersion),
    )
  // Links have almost no size: one leads to the largest file.
  const kilobytes = filesIn(folder).reduce((sum, file) => sum + Math.ceil(lstatSync(file).size / 1024), 0)
  const control = readFileSync(join(samples, 'debian/control'), 'utf8')
  writeFileSync(
    at('DEBIAN/control'),
    control.replace('@VERSION@', debianVersion).replace('@ARCH@', debian).replace('@SIZE@', String(kilobytes)),
  )
  writeFileSync(at('DEBIAN/conffiles'), '/etc/lockstep/lockstep.env\n')
  rmSync(samples, { recursive: true })
  settle(folder)
  chmodSync(at('usr/bin/lockstep'), 0o755)
  chmodSync(at('etc/lockstep/lockstep.env'), 0o640)
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm']) chmodSync(at(`DEBIAN/${script}`), 0o755)
  const file = join(to, `lockstep_${debianVersion}_${debian}.deb`)
  // A higher level takes three times as long for half a percent.
  await run('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z6', '--build', folder, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) },
  })
  return file
}

/** Leads links of pages to where a file is in the release. A link to a file that only the repository has becomes its text. */
function mendLinks(folder: string) {
  const files = filesIn(folder)
  for (const page of globSync(['*.md', 'docs/*.md'], { cwd: folder }).map(name => join(folder, name))) {
    const mended = readFileSync(page, 'utf8').replaceAll(
      /(!?)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)/g,
      (link, image: string, label: string, target: string, anchor = '') => {
        if (existsSync(join(dirname(page), target))) return link
        const moved = files.find(file => basename(file) === basename(target))
        if (moved === undefined) return image === '' ? label : ''
        return `${image}[${label}](${relative(dirname(page), moved)}${anchor})`
      },
    )
    writeFileSync(page, mended)
  }
}

/** The paths of a package, in place of those of an installation by hand. */
function moved(text: string): string {
  return text
    .replaceAll('/opt/lockstep/docs/', '/usr/share/doc/lockstep/')
    .replaceAll('/opt/lockstep', '/usr/lib/lockstep')
    .replaceAll('/etc/lockstep.env', '/etc/lockstep/lockstep.env')
    .replaceAll('/etc/lockstep-', '/etc/lockstep/')
}

/** What is in it, as CycloneDX; without the number and the time that npm makes up. */
async function listParts(checkout: string, bases: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await run('npm', ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx'], {
    cwd: checkout,
    maxBuffer: 1 << 26,
  })
  const { serialNumber: _, ...parts } = JSON.parse(stdout)
  parts.metadata.timestamp = new Date(seconds * 1000).toISOString()
  parts.components.push(...Object.entries(bases).map(baseOfImage))
  const file = join(to, `lockstep-${packageJson.version}.cdx.json`)
  writeFileSync(file, `${JSON.stringify(parts, null, 2)}\n`)
  return file
}

/** The image depends on these bytes, which no lock file names. */
function baseOfImage([architecture, file]: readonly [string, string]) {
  const content = createHash('sha256').update(readFileSync(file)).digest('hex')
  const properties = [{ name: 'architecture', value: architecture }]
  return {
    type: 'operating-system',
    name: 'debian',
    version: 'trixie',
    hashes: [{ alg: 'SHA-256', content }],
    properties,
  }
}

/** Files have the time of the commit, and the modes that they need: nothing depends on who builds. */
function settle(folder: string) {
  for (const path of [...filesIn(folder), folder, ...foldersIn(folder)]) {
    const { isLink, mode } = entryOf(path)
    if (!isLink) chmodSync(path, mode)
    lutimesSync(path, seconds, seconds)
  }
}

function entryOf(path: string): { isLink: boolean; mode: number } {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return { isLink: true, mode: 0 }
  return { isLink: false, mode: stats.isDirectory() || (stats.mode & 0o100) !== 0 ? 0o755 : 0o644 }
}

function filesIn(folder: string): string[] {
  return entriesIn(folder).filter(path => !isFolder(path))
}

function foldersIn(folder: string): string[] {
  return entriesIn(folder).filter(isFolder)
}

function entriesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => join(folder, name))
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', root, ...args])
    .toString()
    .trim()
}
