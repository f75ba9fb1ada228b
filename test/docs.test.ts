import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { settings, settingsPage } from '../src/config.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]
const read = (page: string) => readFileSync(join(root, page), 'utf8')

test('the page of settings is the table of settings (npm run settings writes it)', () => {
  assert.equal(read('docs/settings.md'), settingsPage())
})

test('every setting the docs name exists', () => {
  const known = new Set<string>(Object.values(settings).map(({ env }) => env))
  for (const page of pages) {
    for (const [name] of read(page).matchAll(/\bLOCKSTEP_[A-Z_]+\b/g)) assert.ok(known.has(name), `${page}: ${name}`)
  }
})

test('every command the docs name exists, with every option they give it', () => {
  const helps = new Map<string, string>()
  const help = (words: readonly string[]) => {
    const key = words.join(' ')
    const known = helps.get(key)
    if (known !== undefined) return known
    const { stdout, status } = spawnSync(join(root, 'lockstep'), [...words, '--help'], { encoding: 'utf8' })
    assert.equal(status, 0, key)
    helps.set(key, stdout)
    return stdout
  }
  for (const page of pages) {
    for (const [, line = ''] of read(page).matchAll(/\.\/lockstep ([^\n`]+)/g)) {
      const words = line.split(/\s+/)
      const [command = '', sub = ''] = words
      if (command === 'help') continue
      assert.match(help([]), new RegExp(`^  ${command}\\b`, 'm'), `${page}: ${line}`)
      const hasSub = new RegExp(`^  ${sub}\\b`, 'm').test(help([command])) && /^[a-z][a-z-]*$/.test(sub)
      const shown = hasSub ? help([command, sub]) : help([command])
      for (const option of words.filter(word => /^--[a-z]/.test(word))) {
        assert.ok(shown.includes(option.replace(/=.*/, '')), `${page}: ${line}: ${option}`)
      }
    }
  }
})

test('every script the docs run exists', () => {
  const { scripts } = JSON.parse(read('package.json'))
  for (const page of pages) {
    for (const [, name = ''] of read(page).matchAll(/npm run ([a-z:-]+)/g))
      assert.ok(name in scripts, `${page}: ${name}`)
  }
})

test('every link within the docs leads somewhere', () => {
  for (const page of pages) {
    for (const [, target = ''] of read(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      if (/^https?:/.test(target)) continue
      assert.ok(existsSync(join(root, dirname(page), target)), `${page}: ${target}`)
    }
  }
})

test('the README begins with the two commands that set everything up', () => {
  const [first, second] = [...read('README.md').matchAll(/```sh\n(.*)\n```/g)].map(([, command]) => command)
  assert.deepEqual([first, second], ['npm ci && npm run demo', 'npm ci && npm test'])
  assert.ok(readFileSync(join(root, '.ci/run'), 'utf8').includes('npm ci && npm test'))
})
