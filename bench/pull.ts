import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/pull/clock.ts'
import { pullOnce } from '../src/pull/round.ts'
import { Source } from '../src/pull/source.ts'
import { open } from '../src/store/index.ts'
import { heapOptions } from '../test/support/memory-worker.ts'
import { account, trainerSegment, trainingSession } from '../test/support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../test/support/sources/source-server.ts'

/**
 * `npm run bench:pull [-- <sessions>]`: how many training sessions a pull stores in a second, with how much memory, and how
 * many requests a round without changes sends. Source and pull run in processes of their own; the source has no rate limit.
 */

interface Pulled {
  readonly seconds: number
  readonly requests: number
  readonly megabytes: number
}

const [, , role, argument = ''] = process.argv
if (role === 'source') await serveSource(Number(argument))
else if (role === 'pull') await pullOne(JSON.parse(argument) as { url: string; database: string })
else await measure(Number(role ?? 100_000))

async function measure(sessions: number) {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'))
  const source = fork(import.meta.filename, ['source', String(sessions)])
  try {
    const url = await receive<string>(source)
    const job = JSON.stringify({ url, database: `sqlite:${join(folder, 'bench.db')}` })
    const first = await receive<Pulled>(fork(import.meta.filename, ['pull', job], { execArgv: [...heapOptions()] }))
    const idle = await receive<Pulled>(fork(import.meta.filename, ['pull', job], { execArgv: [...heapOptions()] }))
    process.stdout.write(`first round: ${sessions} training sessions in ${first.seconds.toFixed(1)} s, `)
    process.stdout.write(
      `${Math.round(sessions / first.seconds)} a second, ${first.requests} requests, ${first.megabytes} MB\n`,
    )
    process.stdout.write(
      `idle round: ${idle.requests} requests in ${idle.seconds.toFixed(2)} s, ${idle.megabytes} MB\n`,
    )
  } finally {
    source.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As the launcher starts it. */
function startPull(job: string): ChildProcess {
  const env = { ...process.env, MALLOC_ARENA_MAX: '2', NODE_COMPILE_CACHE: join(tmpdir(), 'lockstep-bench-compiled') }
  return fork(import.meta.filename, ['pull', job], { execArgv: heapOptions(), env })
}

async function serveSource(sessions: number) {
  const world = new SourceWorld().add(account(1, 'ann'))
  const start = Date.UTC(2025, 0, 1)
  for (let id = 1; id <= sessions; id += 1) {
    const TrainerSegment = Array.from({ length: 12 }, (_, index) =>
      trainerSegment(id * 12 + index, { order: index, distanceTravelled: (id % 1000) / 1000 }),
    )
    const created_at = new Date(start + id * 60_000).toISOString()
    world.add(trainingSession(id, 1, { created_at, TrainerSegment }))
  }
  const { url } = await startSource({ world, identity: '/users/me' })
  process.send?.(url)
}

async function pullOne({ url, database }: { url: string; database: string }) {
  const store = await open(database, { busyTimeoutMs: 60_000 })
  const stop = new AbortController().signal
  const source = new Source({ address: url, token: SOURCE_TOKEN, rate: 0, clock: systemClock, stop })
  const startedAt = performance.now()
  const { requests } = await pullOnce({ store, source })
  const seconds = (performance.now() - startedAt) / 1000
  await store.close()
  const megabytes = Math.round(process.resourceUsage().maxRSS / 1024)
  process.send?.({ seconds, requests, megabytes } satisfies Pulled)
  process.disconnect?.()
}

async function receive<Message>(child: ChildProcess): Promise<Message> {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  if (message === undefined) throw new Error('a process of the benchmark ended early')
  // Each process sends one message of the type that its caller expects.
  return message as Message
}
