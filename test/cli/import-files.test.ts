// engine: sqlite
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { makeFolder } from '../support/command.ts'
import { openFile } from '../support/archives.ts'
import { account, lockDevice, lockTemplate, trainingSession, world } from '../support/records.ts'

const ndjson = (lines: readonly object[]) => lines.map(line => `${JSON.stringify(line)}\n`).join('')

test('compressed and encrypted files are read, whatever their names are', async () => {
  await using folder = await makeFolder()
  const identity = await generateX25519Identity()
  const encrypter = new Encrypter()
  encrypter.addRecipient(await identityToRecipient(identity))
  const archive = Buffer.from(ndjson([...world, lockTemplate(1, 1)]))
  const files = {
    'a.ndjson': gzipSync(archive),
    'b.txt': zstdCompressSync(archive),
    c: gzipSync(await encrypter.encrypt(zstdCompressSync(archive))),
    'several.gz': Buffer.concat([gzipSync(archive.subarray(0, 100)), gzipSync(archive.subarray(100))]),
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(folder.file(name), content)
  writeFileSync(folder.file('key'), `# created\n${identity}\n`)
  const { stdout } = await folder.succeeds(['import', ...Object.keys(files), '--identity', 'key'])
  const rows = stdout.match(/^lock-template +\d+ +\d+ +\d+/gm)?.map(row => row.split(/ +/).slice(1))
  assert.deepEqual(rows, [['1', '0', '0'], ...Array.from({ length: 3 }, () => ['0', '0', '1'])])
  const closed = await folder.run(['import', 'c'])
  assert.deepEqual([closed.code, closed.stdout], [2, ''])
  assert.match(closed.stderr, /the archive is encrypted: name a file with --identity/)
})

test('saved responses are imported with the kind and the account that they do not say', async () => {
  await using folder = await makeFolder()
  writeFileSync(folder.file('people.ndjson'), ndjson([account(1, 'ann'), account(2, 'ben')]))
  await folder.run(['import', 'people.ndjson'])
  const session = JSON.stringify({ ok: true, data: { data: [trainingSession(5, 1).data], pagination: {} } })
  const unowned = await folder.run(['import', '-'], { input: session })
  assert.deepEqual([unowned.code, unowned.stdout], [2, ''])
  assert.match(unowned.stderr, /^lockstep: -: the records do not say whose they are: name the account with --account$/m)
  const stored = await folder.succeeds(['import', '-', '--account', 'ben'], { input: session })
  assert.doesNotMatch(stored.stderr, /truncated/)
  assert.match((await folder.run(['export'])).stdout, /"kind":"training-session".+"ownerId":2/)

  const { id, ownerId, lastVisited } = lockDevice(6, 1).data
  const device = JSON.stringify([{ id, ownerId, lastVisited }])
  await folder.refuses(['import', '-'], 2, /do not say of which kind they are: name it with --kind/, { input: device })
  await folder.refuses(['import', '-', '--kind', 'lock-device'], 1, /^-: record 1: locked is missing$/m, {
    input: device,
  })
})

test('a file without records is named for what it is', async () => {
  await using folder = await makeFolder()
  const zip = (...names: string[]) => Buffer.from(`PK\x03\x04\x14\0${names.join('\0')}`)
  const files: readonly [Buffer | string, RegExp][] = [
    [zip('[Content_Types].xml', 'xl/workbook.xml'), /this is a workbook: save it as CSV UTF-8/],
    [zip('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'), /this is a workbook: save it as CSV UTF-8/],
    [Buffer.from('d0cf11e0a1b11ae1', 'hex'), /this is a workbook: save it as CSV UTF-8/],
    [zip('word/document.xml', '[Content_Types].xml'), /this is an office document/],
    [zip('records.ndjson'), /this is a ZIP archive: unpack it/],
    ['%PDF-1.7\n', /this is a PDF document/],
    [Buffer.from('89504e470d0a1a0a', 'hex'), /this is a picture/],
    ['\n<!DOCTYPE html><title>Sign in</title>', /this is a web page/],
    ['SQLite format 3\0', /this is a database: `lockstep restore` reads backups/],
    ['BZh91AY', /this is a packed file of a kind that is not read/],
    [Buffer.from('\uFEFF{}', 'utf16le'), /this is text in UTF-16: save it as CSV UTF-8/],
    ['-----BEGIN AGE ENCRYPTED FILE-----\n', /encrypt it again without --armor/],
    [gzipSync('%PDF-1.7\n'), /this is a PDF document/],
    [gzipSync('x').subarray(0, 15), /the compressed file is damaged or incomplete/],
    [zstdCompressSync('abcdefgh'.repeat(99)).subarray(0, 20), /the compressed file is damaged or incomplete/],
  ]
  for (const [content, says] of files) await assert.rejects(openFile(content), { name: 'FormatError', message: says })
  writeFileSync(folder.file('history.ndjson'), '%PDF-1.7\n')
  const { code, stderr } = await folder.run(['import', 'history.ndjson'])
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^lockstep: history\.ndjson: this is a PDF document, which holds no records: choose an archive, saved responses of this API, or a table \(CSV UTF-8\)$/m,
  )
})
