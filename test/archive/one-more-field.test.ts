// engine: sqlite
import assert from 'node:assert/strict'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'

const root = join(import.meta.dirname, '../..')

test('a field that the contract names appears in the API, pages, CSV files in both directions, files to keep, exports and backups, also of records that had it as an extra field', async () => {
  await using folder = await makeFolder()
  for (const name of ['src', 'test/support', 'scripts', 'docs/archive.md', 'package.json', 'lockstep'])
    cpSync(join(root, name), folder.file(name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), folder.file('node_modules'))
  for (const name of ['training-sessions', 'lock-sessions']) {
    const file = folder.file(`src/contract/${name}.ts`)
    const text = readFileSync(file, 'utf8')
    const [before = '', after = ''] = text.split(/(?<=\n)(?=\}\n\nexport type \w+Session = )/)
    writeFileSync(file, `${before}  moodAfter: whenKnown(Integer('How it was afterwards.')),\n${after}`)
  }
  const { code, stderr } = await folder.spawn(process.execPath, [folder.file('test/support/next-field.ts')]).ended
  assert.equal(code, 0, stderr)
})
