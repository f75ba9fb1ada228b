import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { makeProgram } from '../../scripts/program.ts'
import { settings } from '../../src/config.ts'
import { run } from '../support/command.ts'
import { needs } from '../support/programs.ts'
import { startService } from '../support/service.ts'

// engine: any

/**
 * What systemd and Docker read. Where these tests run there is no Docker: an image is put together by hand from what the
 * Dockerfile copies, and the rest is held to the files and commands it names.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const known = new Set<string>(Object.values(settings).map(({ env }) => env))

const dockerfile = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter(line => line !== '')
  .map(line => /^([A-Z]+) +(.*)$/.exec(line) ?? assert.fail(line))
  .map(([, instruction = '', rest = '']) => ({ instruction, rest }))
const image = dockerfile.slice(dockerfile.findLastIndex(({ instruction }) => instruction === 'FROM'))
const UNITS = readdirSync(join(root, 'deploy')).filter(name => /\.(service|timer)$/.test(name))
const only = (name: string) => image.findLast(({ instruction }) => instruction === name)?.rest ?? assert.fail(name)

test('the image runs as an unprivileged user, with known settings, and can write its data', () => {
  const instructions = [
    'FROM',
    'ARG',
    'WORKDIR',
    'COPY',
    'RUN',
    'USER',
    'VOLUME',
    'ENV',
    'EXPOSE',
    'HEALTHCHECK',
    'ENTRYPOINT',
    'CMD',
  ]
  for (const { instruction } of dockerfile) assert.ok(instructions.includes(instruction), instruction)
  assert.match(only('USER'), /^[1-9]\d+:[1-9]\d+$/)
  const variables = only('ENV').trim().split(/\s+/)
  const elsewhere = `TMPDIR=${only('VOLUME')}`
  assert.ok(variables.includes(elsewhere), 'an import has somewhere to write what does not fit into memory')
  for (const variable of variables) {
    assert.ok(known.has(variable.replace(/=.*/, '')) || variable === elsewhere, variable)
  }
  assert.ok(only('ENV').includes(`LOCKSTEP_DATABASE_URL=sqlite:${only('VOLUME')}/`))
  assert.equal(only('EXPOSE'), settings.port.fallback)
})

test('the image copies files that exist, are not ignored, and are all that the program needs', async () => {
  const allowed = new Set(read('.dockerignore').match(/(?<=^!).+$/gm))
  const sources = dockerfile
    .filter(({ instruction, rest }) => instruction === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1))
  for (const source of sources) {
    assert.ok(allowed.has(source.replace(/^\.\//, '')), `${source} is ignored`)
    assert.ok(existsSync(join(root, source)), source)
  }
  assert.deepEqual(new Set(sources), allowed)

  const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  try {
    for (const { instruction, rest } of dockerfile) {
      if (instruction !== 'COPY' || rest.startsWith('--from')) continue
      for (const source of rest.split(/\s+/).slice(0, -1)) {
        cpSync(join(root, source), join(folder, source), { recursive: true })
      }
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    await makeProgram(folder, join(folder, 'app'), process.arch)
    const [entry = ''] = JSON.parse(only('ENTRYPOINT')) as string[]
    assert.ok(existsSync(join(folder, 'app/bin/node')))
    const { status, stdout, stderr } = spawnSync(join(folder, entry), ['demo', '--help'], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    assert.match(stdout, /Usage: lockstep demo/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the image installs only the packages that the program needs, by the lock file, without scripts', () => {
  const installs = dockerfile.filter(({ rest }) => rest.includes('npm '))
  const [tools, ...others] = installs
  assert.equal(tools?.rest, 'npm ci --ignore-scripts')
  assert.equal(others.length, 1)
  // The image has what the tools made, and not the tools.
  const copied = image.filter(({ instruction }) => instruction === 'COPY').map(({ rest }) => rest)
  assert.deepEqual(
    copied.filter(rest => !/parts\/(system|volumes)/.test(rest)),
    ['--from=parts /app ./'],
  )
  assert.match(others[0]?.rest ?? '', /^npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu=\S/)
  const { dependencies } = JSON.parse(read('package.json'))
  const imported = new Set<string>()
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  for (const file of sources.filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts'))) {
    for (const [, name = ''] of read(join('src', file)).matchAll(
      /(?:from|import\() ?'((?:@[a-z-]+\/)?[a-z][a-z0-9-]*)[^']*'/g,
    ))
      imported.add(name)
  }
  imported.delete('node')
  assert.ok(imported.has('fastify'), 'imports are found')
  for (const name of imported) assert.ok(name in dependencies, name)
})

test('every package is the one that the lock file knows by its hash, and none runs a script when it is installed', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, LockedPackage>> }
  const { '': _, ...installed } = packages
  assert.ok(Object.keys(installed).length > 300)
  for (const [name, { integrity = '', resolved, hasInstallScript = false }] of Object.entries(installed)) {
    assert.match(integrity, /^sha512-/, name)
    // Without an address, npm takes the package from its registry.
    assert.equal(resolved, undefined, name)
    assert.equal(hasInstallScript, false, name)
  }
})

interface LockedPackage {
  readonly integrity?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
}

test('units and containers, those of PostgreSQL included, have the limits of the table, and the containers check the health of the service alike', () => {
  const [, section = ''] = /^## Memory and limits\n([^]*?)^## /m.exec(read('docs/operating.md')) ?? []
  const rows = [...section.matchAll(/^\| (.*?) \|.*\| (\w+), (\w+) \| (\d+) \| (\d+) \|$/gm)]
  const limitsOf = (what: string) => rows.find(([, name]) => name?.includes(what))?.slice(2) ?? assert.fail(what)
  const [service, alone, postgres] = ['the unit', 'next to the service', 'PostgreSQL'].map(limitsOf)
  assert.equal(rows.length, 5)
  for (const name of UNITS.filter(name => name.endsWith('.service'))) {
    const unit = read(`deploy/${name}`)
    const found = ['MemoryHigh', 'MemoryMax', 'TasksMax', 'LimitNOFILE'].map(
      key => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1],
    )
    assert.deepEqual(found, name === 'lockstep.service' ? service : alone, name)
  }
  const check = /^(.*?) +CMD (.*)$/.exec(only('HEALTHCHECK')) ?? assert.fail()
  for (const file of ['compose.yaml', 'compose.postgres.yaml']) {
    const { services } = parse(read(file), { merge: true, strict: true }) as Compose
    for (const [name, container] of Object.entries(services)) {
      const own = name === 'lockstep' || name === 'migrate' ? service : alone
      const [, memory, tasks, files] = (container.image === 'lockstep' ? own : postgres) ?? []
      const { mem_limit = '', pids_limit, ulimits, healthcheck } = container
      assert.deepEqual(
        [mem_limit.toUpperCase(), String(pids_limit), String(ulimits?.nofile)],
        [memory, tasks, files],
        `${file}: ${name}`,
      )
      if (container.image !== 'lockstep' || healthcheck?.test === undefined) continue
      const { test: words, interval, timeout, start_period } = healthcheck
      assert.equal(check[1], `--interval=${interval} --timeout=${timeout} --start-period=${start_period}`)
      assert.deepEqual(
        words.map(word => word.replaceAll('$$', '$')),
        ['CMD', ...(JSON.parse(check[2] ?? '') as string[])],
      )
    }
  }
})

test('settings of lockstep.env come before those that compose.yaml brings', () => {
  const { services } = parse(read('compose.yaml'), { merge: true, strict: true }) as Compose
  for (const name of ['lockstep', 'backup']) {
    const { env_file, environment } = services[name] ?? assert.fail()
    assert.deepEqual(env_file, ['deploy/compose.env', { path: 'lockstep.env', required: false }], name)
    // These would win over the files.
    assert.equal(environment, undefined, name)
  }
  assert.match(read('deploy/compose.env'), /^LOCKSTEP_PUBLIC_URL=http:\/\/localhost:5625$/m)
})

test('the service goes on when memory runs out in the process that pulls', () => {
  assert.match(read('deploy/lockstep.service'), /^OOMPolicy=continue$/m)
})

test('the services cannot read the history of the source code, and the image does not have it', () => {
  const units = [
    'lockstep.service',
    'lockstep-pull.service',
    'lockstep-backup.service',
    'lockstep-homeassistant.service',
  ]
  for (const name of units) assert.match(read(`deploy/${name}`), /^InaccessiblePaths=-\/opt\/lockstep\/\.git$/m)
  const copied = image.filter(({ instruction }) => instruction === 'COPY').map(({ rest }) => rest)
  assert.ok(!copied.some(rest => /(^|\s)(\.|\.git)(\s|$)/.test(rest)))
  assert.match(read('.dockerignore'), /^\*$/m)
})

test('the health check of the image passes if the service runs, and fails if not', async () => {
  const command = JSON.parse(/CMD (.*)$/.exec(only('HEALTHCHECK'))?.[1] ?? '') as string[]
  const [bundled, ...args] = command
  // As the bundler puts it there.
  assert.equal(bundled, 'bin/node')
  const program = process.execPath
  const check = (port: number) =>
    new Promise<number | null>(resolve => {
      const child = execFile(program, args, { env: { ...process.env, LOCKSTEP_PORT: String(port) } })
      child.on('exit', resolve)
    })
  {
    await using service = await startService()
    assert.equal(await check(service.service.port), 0)
  }
  assert.equal(await check(1), 1)
  // As a platform sets it for a service of this name: the service then has its default port.
  const script = args.at(-1) ?? ''
  // Like every Node.js of the service: it opens no debugger that others on the machine could reach.
  assert.deepEqual(args, ['--disable-sigusr1', '--eval', script])
  const asked = `const fetch = async url => (console.log(url), { ok: true });${script}`
  const env = { ...process.env, LOCKSTEP_PORT: 'tcp://10.43.0.9:1234' }
  const printed = execFileSync(program, ['--eval', asked], { env, encoding: 'utf8' })
  assert.equal(printed.trim(), 'http://127.0.0.1:5625/healthz')
})

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
}

interface ComposeService {
  readonly pull_policy?: string
  readonly image: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly env_file?: readonly (string | object)[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly mem_limit?: string
  readonly pids_limit?: number
  readonly ulimits?: { readonly nofile: number }
  readonly healthcheck?: {
    readonly test?: readonly string[]
    readonly interval: string
    readonly timeout: string
    readonly start_period: string
  }
}

for (const file of ['compose.yaml', 'compose.postgres.yaml']) {
  test(`${file} names only files, volumes, services, settings and commands that exist`, async () => {
    const { services, volumes } = parse(read(file), { merge: true, strict: true }) as Compose
    for (const [name, service] of Object.entries(services)) {
      for (const variable of Object.keys(service.environment ?? {})) {
        if (variable.startsWith('LOCKSTEP_')) assert.ok(known.has(variable), variable)
      }
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':')
        assert.ok(source.startsWith('./') ? existsSync(join(root, source)) : source in volumes, volume)
      }
      for (const other of Object.keys(service.depends_on ?? {})) assert.ok(other in services, other)
      if (service.build === undefined) continue
      assert.equal(service.image, 'lockstep', name)
      // Compose would ask a registry for it, and then run what somebody else may have put there.
      assert.equal(service.pull_policy, 'never', name)
      const args = service.command ?? ['serve']
      const words = args.slice(0, args.findIndex(word => word.startsWith('--')) >>> 0)
      const { code, stdout } = await run([...words, '--help'])
      assert.equal(code, 0)
      for (const arg of args.filter(word => word.startsWith('--'))) assert.ok(stdout.includes(arg), arg)
    }
  })
}

test('the commands for Docker name services that have the files, and commands that exist', async () => {
  const { services } = parse(read('compose.yaml'), { merge: true, strict: true }) as Compose
  const lines = read('docs/docker.md').match(/docker compose (?:exec|run) [^`\n]*/g) ?? []
  assert.equal(lines.length, 6)
  for (const line of lines) {
    const words = line.split(' ').slice(3)
    const at = words.findIndex(word => word in services)
    const volumes = services[words[at] ?? '']?.volumes ?? assert.fail(line)
    const folders = volumes.map(volume => volume.split(':')[1])
    for (const [folder] of line.matchAll(/(?<= |")\/[a-z]+/g)) assert.ok(folders.includes(folder), `${line}: ${folder}`)
    const [command = ''] = words.slice(at + 1).filter(word => word !== './lockstep')
    if (words[at - 1] === 'sh') continue
    const { code, stdout } = await run([command, '--help'])
    assert.equal(code, 0, line)
    for (const option of words.slice(at).filter(word => word.startsWith('--'))) assert.ok(stdout.includes(option), line)
  }
})

test('the command for the operator is a valid shell script', () => {
  const { status, stderr } = spawnSync('sh', ['-n', join(root, 'deploy/lockstep-command')], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

test('the installed command helps every user, and tells those who are not root how to run what reads the data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  try {
    const program = join(folder, 'lockstep')
    writeFileSync(program, read('deploy/lockstep-command').replaceAll('/opt/lockstep', root.replace(/\/$/, '')))
    writeFileSync(join(folder, 'id'), '#!/bin/sh\necho 1000\n', { mode: 0o755 })
    const asOther = (...args: string[]) =>
      spawnSync('sh', [program, ...args], {
        encoding: 'utf8',
        env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
      })
    assert.match(asOther('--version').stdout, /^lockstep \d/)
    assert.match(asOther('mcp', '--help').stdout, /^Usage: lockstep mcp/)
    for (const command of ['account', 'doctor', 'serve']) {
      const { status, stderr } = asOther(command)
      assert.deepEqual([status, stderr.trim().split('\n').length], [1, 1])
      assert.match(stderr, /as root/)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

for (const name of ['lockstep.service', 'lockstep-pull.service', 'lockstep-backup.service']) {
  test(`${name} has a folder for compiled code, which its user can write`, async () => {
    const unit = read(`deploy/${name}`)
    const [, user] = /^User=(.*)$/m.exec(unit) ?? []
    const [, folder = ''] = /^CacheDirectory=(.*)$/m.exec(unit) ?? []
    assert.equal(/^Environment=NODE_COMPILE_CACHE=(.*)$/m.exec(unit)?.[1], `/var/cache/${folder}`)
    // Systemd gives the folder to the user of the unit.
    assert.ok(user !== undefined && folder !== '')
    // The commands of the operator run as the same user.
    const command = read('deploy/lockstep-command')
    assert.ok(command.includes(`\nNODE_COMPILE_CACHE=/var/cache/${folder}\n`))
    assert.ok(command.includes(`runuser -u ${user} `))
  })
}

test('a command leaves compiled code in the folder that is named, and needs none to run', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  try {
    const file = join(cache, 'file')
    writeFileSync(file, '')
    for (const folder of [cache, join(file, 'cache')]) {
      const { code, stderr } = await run(['--help'], { env: { NODE_COMPILE_CACHE: folder } })
      assert.equal(code, 0, stderr)
    }
    assert.notDeepEqual(readdirSync(cache), ['file'])
  } finally {
    rmSync(cache, { recursive: true })
  }
})

for (const name of UNITS) {
  test(`systemd accepts ${name}, and it runs a command that exists`, needs('systemd-analyze'), async () => {
    const unit = read(`deploy/${name}`)
    for (const [setting] of unit.matchAll(/\bLOCKSTEP_[A-Z_]+/g)) assert.ok(known.has(setting), setting)
    const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
    try {
      // A timer is verified together with the service that it starts.
      for (const file of UNITS) {
        writeFileSync(join(folder, file), read(`deploy/${file}`).replaceAll('/opt/lockstep/', root))
      }
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', join(folder, name)], {
        encoding: 'utf8',
      })
      assert.equal(stdout + stderr, '')
      assert.equal(status, 0)
    } finally {
      rmSync(folder, { recursive: true })
    }
    const [, command, options = ''] = /^ExecStart=\/opt\/lockstep\/lockstep ([a-z ]*[a-z])(.*)$/m.exec(unit) ?? []
    assert.equal(command === undefined, name.endsWith('.timer'))
    if (command === undefined) return
    const { code, stdout } = await run([...command.split(' '), '--help'])
    assert.equal(code, 0)
    for (const [option] of options.matchAll(/--[a-z-]+/g)) assert.ok(stdout.includes(option), option)
  })
}
