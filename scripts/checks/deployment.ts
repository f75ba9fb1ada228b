import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { makeProgram } from '../../src/cli.ts'
import { settings } from '../../src/config.ts'
import { filesIn, read, root } from './files.ts'

/** What systemd and Docker read is held to the files, settings and commands that it names. */

const known = new Set<string>(Object.values(settings).map(({ env }) => env))

/** The instructions of the Dockerfile. */
export const dockerfile = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter(line => line !== '')
  .map(line => /^([A-Z]+) +(.*)$/.exec(line) ?? assert.fail(line))
  .map(([, instruction = '', rest = '']) => ({ instruction, rest }))
const image = dockerfile.slice(dockerfile.findLastIndex(({ instruction }) => instruction === 'FROM'))
/** The last instruction of a name in the image. */
export const only = (name: string) =>
  image.findLast(({ instruction }) => instruction === name)?.rest ?? assert.fail(name)
export const UNITS = readdirSync(join(root, 'deploy')).filter(name => /\.(service|timer)$/.test(name))

/** Each throws where it does not hold. */
export const deploymentChecks: Readonly<Record<string, () => void>> = {
  'the image runs as an unprivileged user, with known settings, and can write its data'() {
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
  },
  'the image installs only the packages that the program needs, by the lock file, without scripts'() {
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
    const sources = filesIn('src')
    for (const file of sources.filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts'))) {
      for (const [, name = ''] of read(join('src', file)).matchAll(
        /(?:from|import\() ?'((?:@[a-z-]+\/)?[a-z][a-z0-9.-]*)[^']*'/g,
      ))
        imported.add(name)
    }
    imported.delete('node')
    assert.ok(imported.has('fastify'), 'imports are found')
    for (const name of imported) assert.ok(name in dependencies, name)
  },
  'every package is the one that the lock file knows by its hash, and none runs a script when it is installed'() {
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, LockedPackage>> }
    const { '': _, ...installed } = packages
    assert.ok(Object.keys(installed).length > 300)
    for (const [name, { integrity = '', resolved, hasInstallScript = false }] of Object.entries(installed)) {
      assert.match(integrity, /^sha512-/, name)
      // Without an address, npm takes the package from its registry.
      assert.equal(resolved, undefined, name)
      assert.equal(hasInstallScript, false, name)
    }
  },
  'units and containers, those of PostgreSQL included, have the limits of the table, and the containers check the health of the service alike'() {
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
  },
  'settings of lockstep.env come before those that compose.yaml brings'() {
    const { services } = parse(read('compose.yaml'), { merge: true, strict: true }) as Compose
    for (const name of ['lockstep', 'backup']) {
      const { env_file, environment } = services[name] ?? assert.fail()
      assert.deepEqual(env_file, ['deploy/compose.env', { path: 'lockstep.env', required: false }], name)
      // These would win over the files.
      assert.equal(environment, undefined, name)
    }
    assert.match(read('deploy/compose.env'), /^LOCKSTEP_PUBLIC_URL=http:\/\/localhost:5625$/m)
  },
  'the service goes on when memory runs out in the process that pulls'() {
    assert.match(read('deploy/lockstep.service'), /^OOMPolicy=continue$/m)
  },
  'the services cannot read the history of the source code, and the image does not have it'() {
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
  },
  'the files for Docker Compose name only files, volumes, services, settings and commands that exist'() {
    for (const file of ['compose.yaml', 'compose.postgres.yaml']) {
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
        assertCommand(words, args, name)
      }
    }
  },
  'the commands for Docker name services that have the files, and commands that exist'() {
    const { services } = parse(read('compose.yaml'), { merge: true, strict: true }) as Compose
    const lines = read('docs/docker.md').match(/docker compose (?:exec|run) [^`\n]*/g) ?? []
    assert.equal(lines.length, 6)
    for (const line of lines) {
      const words = line.split(' ').slice(3)
      const at = words.findIndex(word => word in services)
      const volumes = services[words[at] ?? '']?.volumes ?? assert.fail(line)
      const folders = volumes.map(volume => volume.split(':')[1])
      for (const [folder] of line.matchAll(/(?<= |")\/[a-z]+/g))
        assert.ok(folders.includes(folder), `${line}: ${folder}`)
      const [command = ''] = words.slice(at + 1).filter(word => word !== './lockstep')
      if (words[at - 1] === 'sh') continue
      assertCommand([command], words.slice(at), line)
    }
  },
  'units name known settings, and run commands that exist'() {
    for (const name of UNITS) {
      const unit = read(`deploy/${name}`)
      for (const [setting] of unit.matchAll(/\bLOCKSTEP_[A-Z_]+/g)) assert.ok(known.has(setting), setting)
      const [, command, options = ''] = /^ExecStart=\/opt\/lockstep\/lockstep ([a-z ]*[a-z])(.*)$/m.exec(unit) ?? []
      assert.equal(command === undefined, name.endsWith('.timer'))
      if (command !== undefined) assertCommand(command.split(' '), options.split(' '), name)
    }
  },
}

const program = await makeProgram()

/** Throws unless there is such a command with the options among these words. */
function assertCommand(names: readonly string[], words: readonly string[], where: string) {
  const command = names.reduce(
    (at, name) => at.commands.find(one => one.name() === name) ?? assert.fail(where),
    program,
  )
  const help = command.helpInformation()
  for (const [option] of words.join(' ').matchAll(/(?<= |^)--[a-z-]+/g))
    assert.ok(help.includes(option), `${where}: ${option}`)
}

interface LockedPackage {
  readonly integrity?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
}

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
