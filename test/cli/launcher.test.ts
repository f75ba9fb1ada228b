// engine: any
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { launcher, makeFolder } from '../support/command.ts'

const read = (name: string) => readFileSync(join(dirname(launcher), name), 'utf8')
const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }

test('where npm has not linked the Node.js that it installed, the launcher does', async () => {
  await using folder = await makeFolder()
  const program = folder.file('program')
  mkdirSync(join(program, 'node_modules/.bin'), { recursive: true })
  mkdirSync(join(program, 'node_modules/node-here/bin'), { recursive: true })
  mkdirSync(join(program, 'src'))
  cpSync(launcher, join(program, 'lockstep'))
  writeFileSync(join(program, 'src/cli.ts'), 'console.log(process.argv[2] satisfies unknown)')
  symlinkSync(process.execPath, join(program, 'node_modules/node-here/bin/node'))
  assert.equal(execFileSync(join(program, 'lockstep'), ['started'], { encoding: 'utf8' }), 'started\n')
  assert.equal(realpathSync(join(program, 'node_modules/.bin/node')), realpathSync(process.execPath))
})

test('README and the lock file name the lowest Node.js on which npm may run', () => {
  const [, lowest] = /Node\.js (\d+) or later/.exec(read('README.md')) ?? []
  assert.equal(engines.node, `>=${lowest}`)
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, object> }
  assert.deepEqual(packages[''], { ...packages[''], engines })
})
