// engine: sqlite
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { makeFolder } from '../support/command.ts'
import { readHelps } from '../support/helps.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const isMissing = !existsSync(join(root, '.git')) || spawnSync('dpkg-deb', ['--version']).status !== 0
const skip = isMissing && process.env['CI'] !== 'true' ? 'there is no dpkg-deb, or no history to build from' : false

const MAX_TARBALL_BYTES = 60e6
const MAX_PROGRAM_BYTES = 215e6

test(
  'a release has the same hashes wherever it is built, and its program runs every command and page alone',
  { skip },
  async () => {
    await using folder = await makeFolder()
    const sums: string[] = []
    for (const name of ['one', 'other']) {
      // Another folder for what is built in between, and another mask for the modes of files.
      mkdirSync(folder.file(`${name}-work`))
      const build = `umask ${name === 'one' ? '022' : '077'}; exec node scripts/release.ts --platform x64 --to "$0"`
      await run('sh', ['-c', build, folder.file(name)], {
        cwd: root,
        env: { ...process.env, TMPDIR: folder.file(`${name}-work`) },
      })
      sums.push(readFileSync(folder.file(`${name}/SHA256SUMS`), 'utf8'))
    }
    assert.equal(sums[0], sums[1])
    assert.equal(sums[0]?.trim().split('\n').length, 3)
    await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder.file('one') })

    const tarball = readdirSync(folder.file('one')).find(name => name.endsWith('.tar.gz')) ?? ''
    assert.ok(statSync(folder.file(`one/${tarball}`)).size <= MAX_TARBALL_BYTES)
    await run('tar', ['-xzf', join('one', tarball)], { cwd: folder.path })
    const program = folder.file(tarball.replace('.tar.gz', ''))
    const files = readdirSync(program, { recursive: true, encoding: 'utf8' })
    const bytes = files.reduce((sum, file) => sum + lstatSync(join(program, file)).size, 0)
    assert.ok(bytes <= MAX_PROGRAM_BYTES, `${bytes} bytes`)
    assert.deepEqual(
      files.filter(file => /(^|\/)(test|\.git|deploy|bench|scripts)$/.test(file) && !file.startsWith('node_modules/')),
      [],
    )

    // Without the packages of this folder, without npm and any other Node.js.
    const env = { PATH: '/usr/bin:/bin', HOME: folder.path }
    const lockstep = join(program, 'lockstep')
    for (const command of (await readHelps()).keys()) {
      const { stdout } = await run(lockstep, [...command.split(' ').filter(word => word !== ''), '--help'], { env })
      assert.match(stdout, /^Usage: lockstep/)
    }
    assert.match((await run(lockstep, ['--version'], { env })).stdout, /\(commit [0-9a-f]{12}, /)
    await using demo = folder.spawn('env', ['-i', `PATH=${env.PATH}`, lockstep, 'demo', '--port', '0'])
    const [, url = ''] = await demo.says(/(http:\/\/127\.0\.0\.1:\d+)/)
    for (const path of [
      '/signin',
      '/docs',
      '/docs/console',
      '/docs/console.js',
      '/openapi.json',
      '/client.js',
      '/readyz',
    ])
      assert.equal((await fetch(url + path)).status, 200, path)
  },
)
