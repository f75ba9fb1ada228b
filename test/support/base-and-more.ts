import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type Folder, makeFolder } from './command.ts'

/** A folder with a database and a backup of `base`, an archive of each and of both, and a database and a backup of both. */
export async function folderOf(base: readonly object[], more: readonly object[]): Promise<Folder> {
  const folder = await makeFolder()
  const archive = (lines: readonly object[]) => `${lines.map(line => JSON.stringify(line)).join('\n')}\n`
  writeFileSync(folder.file('base.ndjson'), archive(base))
  writeFileSync(folder.file('more.ndjson'), archive(more))
  writeFileSync(folder.file('whole.ndjson'), archive([...base, ...more]))
  const all = ['--database', 'sqlite:all.db']
  for (const args of [
    ['import', 'whole.ndjson', ...all],
    ['backup', 'whole.db', ...all],
    ['import', 'base.ndjson'],
    ['backup', 'base.db'],
  ]) {
    const { code, stderr } = await folder.run(args)
    assert.equal(code, 0, stderr)
  }
  return folder
}
