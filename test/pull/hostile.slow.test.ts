// engine: sqlite
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Folder, makeFolder } from '../support/command.ts'
import { account, lockDevice, lockTemplate, trainingDevice, trainingSession } from '../support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'

/** What a source that was honest once can do to a copy of it. */

const MAX_MEGABYTES = 300
/** These tests alone depend on time. */
const MAX_PULL_MS = 5000
const NESTED = '['.repeat(10_000_000)
const NAME = 'ann\u0000\u0007\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2066\r\nok'
const RAW = /[^\P{Cc}\n]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const json = (response: ServerResponse, body: string) =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)

/** Sends the same text until nobody reads. */
function endless(response: ServerResponse, text: string) {
  response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"ok":true,"data":{"data":[1')
  const part = text.repeat(20_000)
  const send = () => {
    while (!response.destroyed) if (!response.write(part)) return void response.once('drain', send)
  }
  send()
}

/** What it answers instead, whatever is asked, and what the command says. */
const attacks: Readonly<Record<string, readonly [answer: (response: ServerResponse) => void, says: RegExp]>> = {
  'JSON nested 10 MB deep': [response => json(response, `{"ok":true,"data":${NESTED}`), /nested more than 40 deep/],
  'a list without an end': [response => endless(response, ',{"id":1}'), /more than 64 MiB/],
  'a number without an end': [response => endless(response, '1'), /more than 64 MiB/],
  'control characters as an error': [
    response => void response.writeHead(403).end(JSON.stringify({ ok: false, code: NAME, error: NAME })),
    /does not allow/,
  ],
}

/** The processor time of a process, in milliseconds; 0 once it has ended. Unlike a clock, it does not depend on how busy the machine is. */
function processorMs(pid: number | undefined): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) * MS_PER_TICK
}

const MS_PER_TICK = 10

/** Runs a pull and returns what it said, its processor time and the most memory that it took. */
async function pullIn(folder: Folder, url: string) {
  const env = { LOCKSTEP_SOURCE_URL: url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  await using running = folder.start(['pull', '--full'], { env })
  let kilobytes = 0
  let took = 0
  while (running.process.exitCode === null) {
    const status = readFileSync(`/proc/${running.process.pid}/status`, 'utf8')
    kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? kilobytes)
    took = processorMs(running.process.pid) || took
    await sleep(5)
  }
  const { code, stdout, stderr } = await running.ended
  assert.ok(!RAW.test(stdout + stderr), JSON.stringify(stdout + stderr))
  assert.ok(kilobytes / 1024 < MAX_MEGABYTES, `${kilobytes} kB`)
  assert.ok(took < MAX_PULL_MS, `${took} ms`)
  return { code, stdout, stderr, figures: `${took} ms, ${Math.round(kilobytes / 1024)} MB` }
}

async function exported(folder: Folder): Promise<string> {
  const { stdout } = await folder.succeeds(['export', '--account', 'ann'])
  return stdout
}

const honest = () =>
  new SourceWorld().add(
    account(1, 'ann'),
    lockDevice(1, 1),
    trainingDevice(1, 1),
    lockTemplate(1, 1),
    trainingSession(1, 1),
  )

test('whatever a source answers, and to which request, a pull says so in one sentence and leaves the records as they were', async t => {
  await using source = await startSource({ world: honest(), identity: '/users/me' })
  // Passes requests on, until it attacks from one of them on.
  let attack: (typeof attacks)[string][0] | undefined
  let from = 0
  let asked = 0
  const between = createServer((request, response) => {
    asked += 1
    if (attack !== undefined && asked > from) return attack(response)
    void fetch(source.url + request.url, { headers: { Authorization: String(request.headers.authorization) } }).then(
      async answer => response.writeHead(answer.status).end(await answer.text()),
    )
  })
  await new Promise<void>(resolve => between.listen(0, '127.0.0.1', resolve))
  using _ = { [Symbol.dispose]: () => (between.closeAllConnections(), between.close()) }
  const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`
  await using folder = await makeFolder()
  const first = await pullIn(folder, url)
  assert.equal(first.code, 0, first.stderr)
  const requests = asked
  const before = await exported(folder)
  assert.match(before, /"training-session"/)
  for (const [what, [answer, says]] of Object.entries(attacks)) {
    for (from of [0, 1, Math.floor(requests / 2)]) {
      asked = 0
      attack = answer
      const { code, stderr, figures } = await pullIn(folder, url)
      t.diagnostic(`${what}, from request ${from + 1} of ${requests}: ${figures}: ${stderr.trim()}`)
      assert.ok(code !== 0 && says.test(stderr), `${what}: ${code} ${stderr}`)
      assert.equal(await exported(folder), before, what)
    }
  }
})
