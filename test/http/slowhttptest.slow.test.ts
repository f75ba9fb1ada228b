import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { sampleService, visitorAs } from '../support/dashboard.ts'
import { needs } from '../support/programs.ts'
import { ask, serve } from '../support/serving.ts'

const HEADERS_TIMEOUT_S = 4
const REQUEST_TIMEOUT_S = 5
/** How long an attack takes, after which the program closes its connections; longer than any connection may last. */
const ATTACK_S = 20

interface Mode {
  readonly args: readonly string[]
  /** To each of the two pages, and how many of them are opened in a second. */
  readonly connections: number
  readonly rate: number
  /** How many are open at the same time, at least: what is answered at once is not. */
  readonly open: number
  /** How many seconds one may last, and end. */
  readonly lasts: number
  /** Whether late requests are refused, which would end slow forms at once on a busy machine. */
  readonly lag: '0' | '500'
}

const modes: Readonly<Record<string, Mode>> = {
  'slow headers': {
    args: ['-H', '-i', '1'],
    connections: 250,
    rate: 100,
    open: 250,
    lasts: HEADERS_TIMEOUT_S + 2,
    lag: '500',
  },
  // Forms to the other page are refused before they arrive.
  'slow forms': {
    args: ['-B', '-i', '1'],
    connections: 250,
    rate: 100,
    open: 125,
    lasts: REQUEST_TIMEOUT_S + 2,
    lag: '0',
  },
  'ranges of bytes': { args: ['-R'], connections: 50, rate: 5, open: 0, lasts: REQUEST_TIMEOUT_S + 2, lag: '500' },
  'slow reading': {
    args: ['-X', '-k', '3', '-w', '10', '-y', '512', '-n', '5', '-z', '32'],
    connections: 100,
    rate: 10,
    open: 50,
    lasts: REQUEST_TIMEOUT_S + 2,
    lag: '500',
  },
}

for (const [title, { args, connections, rate, open, lasts, lag }] of Object.entries(modes)) {
  const promise = `beside slowhttptest with ${title} others are answered, and its connections end within their limit`
  test(promise, needs('slowhttptest'), async t => {
    await using sample = await sampleService()
    await using service = await serve(sample.databaseUrl, {
      settings: {
        LOCKSTEP_HEADERS_TIMEOUT: String(HEADERS_TIMEOUT_S),
        LOCKSTEP_REQUEST_TIMEOUT: String(REQUEST_TIMEOUT_S),
        LOCKSTEP_KEEP_ALIVE: '2',
        LOCKSTEP_ADDRESS_CONNECTIONS: '0',
        LOCKSTEP_OVERLOAD_LAG: lag,
      },
    })
    const alex = await visitorAs(service.url, 'alex')
    await alex.get('/training')
    const sockets = () => socketsOf(service.process.pid)
    const before = sockets()

    const common = `-c ${connections} -r ${rate} -l ${ATTACK_S} -p 3 -v 1`.split(' ')
    // Of one session, most forms would be refused: it may have three pages in work, and twelve that wait.
    const cookies = args.includes('-B') ? [] : ['-j', `session=${alex.cookies.get('session')}`]
    // It has no option for this header, without which a form is refused at once.
    const accept = `text/html\r\nOrigin: ${service.url}`
    const attacks = ['/signin', '/training'].map(path =>
      promisify(execFile)('slowhttptest', [...args, ...common, '-m', accept, ...cookies, '-u', service.url + path]),
    )
    const over = Promise.allSettled(attacks).then(() => 'over' as const)
    const from = performance.now()
    let last = from
    let most = 0
    let longest = 0
    while ((await Promise.race([over, sleep(200)])) !== 'over') {
      for (const path of ['/healthz', '/signin']) {
        const { status, took } = await ask(service.url + path)
        assert.ok(status === 200 || status === 503, String(status))
        longest = Math.max(longest, took)
      }
      most = Math.max(most, sockets() - before)
      if (sockets() > before + 2) last = performance.now()
    }
    await Promise.all(attacks)
    const held = (last - from) / 1000
    t.diagnostic(`at most ${most} connections, for ${held.toFixed(1)} s; others waited ${longest.toFixed(0)} ms`)
    assert.ok(longest < 5000, `others waited ${longest} ms`)
    assert.ok(most >= open, `it opened only ${most} connections`)
    assert.ok(held < connections / rate + lasts + 5, `connections were open for ${held} s`)
  })
}

/** How many sockets a process has open. */
function socketsOf(pid: number | undefined): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter(name => {
    try {
      return readlinkSync(`${folder}/${name}`).startsWith('socket:')
    } catch {
      // It was closed meanwhile.
      return false
    }
  }).length
}
