import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { newDatabase } from '../support/databases.ts'
import { endLeasesOf } from '../support/jobs.ts'
import { account, lockDevice, lockSession, lockTemplate, trainingSession } from '../support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'

test('a pull that is killed at any request leaves only whole records, and the next one brings the rest', async () => {
  const world = new SourceWorld().add(
    account(1, 'ann', { league: 4 }),
    lockDevice(1, 1),
    lockTemplate(1, 1),
    lockSession(1, 1),
    ...Array.from({ length: 120 }, (_, index) => trainingSession(index + 1, 1)),
  )
  await using source = await startSource({ world, identity: '/users/me', maxLimit: 50 })
  const env = { LOCKSTEP_SOURCE_URL: source.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  await using folder = await makeFolder()
  await folder.succeeds(['pull'], { env })
  const whole = await linesOf(folder)
  const total = source.requests.length
  assert.ok(total > 5)

  // Some of them, because each takes a second.
  for (let request = 0; request < total; request += Math.ceil(total / 8)) {
    await using database = await temporaryDatabase()
    await using other = await makeFolder()
    const where = ['--database', database.url]
    const first = source.requests.length
    await using running = other.start(['pull', ...where], { env })
    source.before = (_, index) => {
      if (index === first + request) running.process.kill('SIGKILL')
    }
    assert.equal((await running.ended).code, null, `request ${request}`)
    source.before = undefined
    const found = await linesOf(other, where)
    assert.deepEqual(
      found.filter(line => !whole.includes(line)),
      [],
      `request ${request}`,
    )
    await endLeasesOf(database.url)
    await other.succeeds(['pull', ...where], { env })
    assert.deepEqual(await linesOf(other, where), whole)
    assert.deepEqual(readdirSync(other.path), [], 'nothing is left')
  }
})

async function temporaryDatabase() {
  const database = await newDatabase()
  return { url: database.url, [Symbol.asyncDispose]: () => database.remove() }
}

/** What a database holds, without when it was read at the source. */
async function linesOf(folder: Folder, where: readonly string[] = []): Promise<readonly string[]> {
  const { code, stdout, stderr } = await folder.run(['export', ...where])
  // A pull that was killed at its start has made no database.
  if (code !== 0) assert.match(stderr, /there is no database|no tables of Lockstep/)
  return stdout
    .split('\n')
    .filter(line => !line.startsWith('{"kind":"end"'))
    .map(line => line.replace(/,"asOf":"[^"]*"/, ''))
}
