// engine: sqlite
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { makeFolder } from '../support/command.ts'
import { allowSignIn, type Visitor, visitor } from '../support/dashboard.ts'
import { childrenOf, needsProc, readOf } from '../support/programs.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'
import { isWhole, sweep } from '../support/sweeps.ts'
import { decide, settledPage, upload, uploadFiles } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

// Files that are made to take all memory, time or disk of whoever reads them.

const MB = 1024 ** 2
/** How much more memory than for a file of one record may be used: windows of compression, and lines of up to 1 MiB. */
const MAX_MORE = 200 * MB

let service: TestService
let ann: Visitor
let usual = 0

before(async () => {
  service = await startService(world)
  await allowSignIn(service, 'ann')
  ann = visitor(service.url)
  await ann.signIn('ann')
})

after(() => service[Symbol.asyncDispose]())

const bomb = (bytes: Buffer) => gzipSync(bytes)
const repeated = (layers: number) => {
  let bytes: Buffer = Buffer.from('[]')
  for (let layer = 0; layer < layers; layer += 1) bytes = gzipSync(bytes, { level: 1 })
  return bytes
}
const record = JSON.stringify(lockTemplate(1, 1))
const scrypt = (factor: number) =>
  `age-encryption.org/v1\n-> scrypt ${'A'.repeat(22)} ${factor}\n${'A'.repeat(43)}\n--- ${'A'.repeat(43)}\n`

/** Each with what the page says. */
const files: Readonly<Record<string, readonly [content: () => string | Buffer, says: RegExp]>> = {
  'a gigabyte of nothing, compressed': [() => bomb(Buffer.alloc(1024 * MB)), /becomes too large when it is unpacked/],
  'the same, compressed twice': [
    () => gzipSync(bomb(Buffer.alloc(1024 * MB))),
    /becomes too large when it is unpacked/,
  ],
  'the same by zstd': [() => zstdCompressSync(Buffer.alloc(1024 * MB)), /becomes too large when it is unpacked/],
  'zstd with the largest window': [
    () =>
      zstdCompressSync(randomBytes(4 * MB).toString('hex'), {
        params: { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 },
      }),
    /is longer than 1 MiB/,
  ],
  'one record a hundred thousand times': [() => `${record}\n`.repeat(1e5), /Lock templates .+ 1 new, 99,999 the same /],
  'a hundred thousand records with one number': [
    () => Array.from({ length: 100_000 }, (_, index) => `${record.replace('3600', String(index))}\n`).join(''),
    /99,99\d (line|record)s? cannot be stored/,
  ],
  'a thousand layers': [() => repeated(1000), /packed more than 3 times/],
  'a line of 200 MB': [
    () => Buffer.concat([Buffer.from('{"kind":"'), Buffer.alloc(200 * MB, 'x')]),
    /is longer than 1 MiB/,
  ],
  'a text of 200 MB in a list': [
    () => Buffer.concat([Buffer.from('[{"a":"'), Buffer.alloc(200 * MB, 'x')]),
    /more than 16 MiB/,
  ],
  'a cell of 200 MB': [
    () => Buffer.concat([Buffer.from('Recorded,Passed\n"'), Buffer.alloc(200 * MB, 'x')]),
    /is longer than 1 MiB/,
  ],
  'ten million lines': [() => `{}\n${'x\n'.repeat(10_000_001)}`, /more than 100,000 of its lines are no records/i],
  'ten million records in a list': [() => `[${'1,'.repeat(10_000_000)}1]`, /more than 16 MiB/],
  'five million open lists': [() => '['.repeat(5_000_000), /nested more than 40 deep/],
  'five million open objects': [() => '{"data":'.repeat(5_000_000), /more than 16 MiB/],
  'a record nested half a million times': [
    () => `[{"id":1,"isTestLock":${'['.repeat(250_000)}${']'.repeat(250_000)}}]`,
    /nested more than 40 deep/,
  ],
  'a hundred thousand columns': [() => `${'Recorded,Passed,'.repeat(50_000)}\n`, /more than 200 columns/],
  'a hundred thousand cells in a row': [
    () => `Recorded,Passed\n${'2026-01-01,'.repeat(50_000)}yes\n`,
    /has more cells than the first line/,
  ],
  'bytes at random': [
    () => Buffer.concat([Buffer.from([0, 0xff]), randomBytes(20 * MB)]),
    /is not valid UTF-8|is longer than 1 MiB/,
  ],
  'an encrypted file that takes a terabyte to open': [() => scrypt(30), /lower work factor/],
  'a header of an encrypted file that never ends': [
    () => `age-encryption.org/v1\n-> X25519 ${'A'.repeat(20 * MB)}`,
    /The file is encrypted/,
  ],
}

test('a file of one record says how much memory a check takes', needsProc, async () => {
  const { peak } = await sent(JSON.stringify(lockTemplate(1, 2)))
  usual = peak
  assert.ok(usual > 0)
})

// A sample has every fourth: the next one is often the same in another form.
for (const [name, [content, says]] of Object.entries(files).filter((_, index) => isWhole || index % 4 === 0)) {
  test(`${name}: ends in a sentence, in little memory, and leaves nothing`, needsProc, async t => {
    const { page, peak } = await sent(content())
    assert.match(page, says)
    t.diagnostic(`${Math.round((peak - usual) / MB)} MB more than for one record`)
    assert.ok(peak < usual + MAX_MORE, `${Math.round(peak / MB)} MB instead of ${Math.round(usual / MB)} MB`)
  })
}

test('a line of a gigabyte that is piped into the command takes little memory', needsProc, async t => {
  for (const start of ['{"kind":"', 'Recorded,Passed\n"'].slice(0, sweep(1, 2))) {
    await using folder = await makeFolder()
    await folder.run(['account', 'add', '--username', 'ann'])
    const running = folder.start(['import', '-', '--account', 'ann'])
    const { stdin, pid = 0 } = running.process
    stdin?.on('error', () => {}).write(start)
    const chunk = Buffer.alloc(4 * MB, 'x')
    let peak = 0
    for (let sentChunks = 0; sentChunks < 256; sentChunks += 1) {
      if (stdin?.write(chunk) === false) await new Promise(resolve => stdin.once('drain', resolve))
      peak = Math.max(peak, peakOf(pid))
    }
    stdin?.end()
    const { code, stderr } = await running.ended
    assert.equal(code, 1)
    assert.match(stderr, /is longer than 1 MiB|quotation mark/)
    t.diagnostic(`${Math.round(peak / MB)} MB`)
    assert.ok(peak < usual + MAX_MORE)
  }
})

/** Sends a file, and discards it if it could be stored. Returns what the page says of it, and the memory of the process that read it. */
async function sent(content: string | Buffer): Promise<{ page: string; peak: number }> {
  let peak = 0
  const watch = setInterval(() => {
    for (const pid of childrenOf(process.pid)) peak = Math.max(peak, peakOf(pid))
  }, 10)
  try {
    const { status } = await upload(service.url, ann, { file: Buffer.from(content) })
    assert.equal(status, 303)
    const page = (await settledPage(ann)).replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
    await decide(ann, 'discard')
    await until(async () => uploadFiles(service.databaseUrl).length === 0)
    for (const table of ['lock_template', 'training_session', 'lock_session', 'set_aside'] as const) {
      assert.deepEqual(await service.store.db.selectFrom(table).select('id').execute(), [])
    }
    return { page, peak }
  } finally {
    clearInterval(watch)
  }
}

/** The most memory that a process had, in bytes; 0 if it has ended. */
function peakOf(pid: number): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readOf(`/proc/${pid}/status`)) ?? []
  return Number(kilobytes) * 1024
}
