import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeProgram } from '../../scripts/program.ts'
import { dockerfile, only, UNITS } from '../../scripts/checks/deployment.ts'
import { read, root } from '../../scripts/checks/files.ts'
import { makeFolder, run } from '../support/command.ts'
import { needs } from '../support/programs.ts'
import { startService } from '../support/service.ts'

// engine: any

/**
 * What systemd and Docker run. Where these tests run there is no Docker: an image is put together by hand from what the Dockerfile
 * copies.
 */

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

  await using folder = await makeFolder()
  for (const { instruction, rest } of dockerfile) {
    if (instruction !== 'COPY' || rest.startsWith('--from')) continue
    for (const source of rest.split(/\s+/).slice(0, -1)) {
      cpSync(join(root, source), folder.file(source), { recursive: true })
    }
  }
  symlinkSync(join(root, 'node_modules'), folder.file('node_modules'))
  await makeProgram(folder.path, folder.file('app'), process.arch)
  const [entry = ''] = JSON.parse(only('ENTRYPOINT')) as string[]
  assert.ok(existsSync(folder.file('app/bin/node')))
  const { status, stdout, stderr } = spawnSync(folder.file(entry), ['demo', '--help'], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /Usage: lockstep demo/)
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

test('the command for the operator is a valid shell script', () => {
  const { status, stderr } = spawnSync('sh', ['-n', join(root, 'deploy/lockstep-command')], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

test('the installed command helps every user, and tells those who are not root how to run what reads the data', async () => {
  await using folder = await makeFolder()
  const program = folder.file('lockstep')
  writeFileSync(program, read('deploy/lockstep-command').replaceAll('/opt/lockstep', root.replace(/\/$/, '')))
  writeFileSync(folder.file('id'), '#!/bin/sh\necho 1000\n', { mode: 0o755 })
  const asOther = (...args: string[]) =>
    spawnSync('sh', [program, ...args], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder.path}:${process.env['PATH']}` },
    })
  assert.match(asOther('--version').stdout, /^lockstep \d/)
  assert.match(asOther('mcp', '--help').stdout, /^Usage: lockstep mcp/)
  for (const command of ['account', 'doctor', 'serve']) {
    const { status, stderr } = asOther(command)
    assert.deepEqual([status, stderr.trim().split('\n').length], [1, 1])
    assert.match(stderr, /as root/)
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
  await using folder = await makeFolder()
  const file = folder.file('file')
  writeFileSync(file, '')
  for (const cache of [folder.path, join(file, 'cache')]) {
    const { code, stderr } = await run(['--help'], { env: { NODE_COMPILE_CACHE: cache } })
    assert.equal(code, 0, stderr)
  }
  assert.notDeepEqual(readdirSync(folder.path), ['file'])
})

for (const name of UNITS) {
  test(`systemd accepts ${name}`, needs('systemd-analyze'), async () => {
    await using folder = await makeFolder()
    // A timer is verified together with the service that it starts.
    for (const file of UNITS) {
      writeFileSync(folder.file(file), read(`deploy/${file}`).replaceAll('/opt/lockstep/', `${root}/`))
    }
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', folder.file(name)], {
      encoding: 'utf8',
    })
    assert.equal(stdout + stderr, '')
    assert.equal(status, 0)
  })
}
