import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { account, trainerSegment, trainingSession } from '../test/support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../test/support/sources/source-server.ts'

/**
 * `npm run bench:pull [-- <sessions>]`: how many training sessions the command stores in a second, in how much memory, and
 * how many requests a round takes that finds nothing new. The source is a process of its own and has no limit.
 */
const SEGMENTS = 12

const LAUNCHER = join(import.meta.dirname, '../lockstep')

/** Run by the command at its end. */
const REPORT_USAGE = `process.on('exit',()=>process.stderr.write('usage '+JSON.stringify(process.resourceUsage())+'\\n'))`

const [, , role, argument = ''] = process.argv
if (role === 'source') await serveSource(Number(argument))
else await measure(Number(role ?? 100_000))

async function measure(sessions: number) {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'))
  const source = fork(import.meta.filename, ['source', String(sessions)])
  try {
    const url = await urlOf(source)
    // Fills the cache of compiled code, which is empty only before the first start after an installation.
    spawnSync(LAUNCHER, ['pull', '--help'])
    const first = await pull(folder, url)
    const idle = await pull(folder, url)
    const perSecond = Math.round(sessions / first.seconds)
    const ofProcessor = Math.round(sessions / first.processorSeconds)
    process.stdout.write(
      `first round: ${sessions} training sessions in ${first.seconds.toFixed(1)} s, ${perSecond} a second `,
    )
    process.stdout.write(
      `(${ofProcessor} in a second of the processor), ${first.requests} requests, ${first.megabytes} MB\n`,
    )
    process.stdout.write(
      `idle round: ${idle.requests} requests in ${idle.seconds.toFixed(2)} s, ${idle.megabytes} MB\n`,
    )
  } finally {
    source.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the command as people do, and returns what it took. */
async function pull(folder: string, url: string) {
  const startedAt = performance.now()
  const child = spawn(LAUNCHER, ['pull', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(REPORT_USAGE)}`,
      LOCKSTEP_SOURCE_URL: url,
      LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN,
      LOCKSTEP_PULL_RATE: '0',
    },
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const seconds = (performance.now() - startedAt) / 1000
  const usage = /^usage (.*)$/m.exec(stderr)?.[1]
  if (usage === undefined || stdout === '') throw new Error(stderr)
  // The command prints the first, REPORT_USAGE the second.
  const { requests } = JSON.parse(stdout) as { requests: number }
  const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(usage) as NodeJS.ResourceUsage
  const processorSeconds = (userCPUTime + systemCPUTime) / 1e6
  return { seconds, processorSeconds, requests, megabytes: Math.round(maxRSS / 1024) }
}

async function serveSource(sessions: number) {
  const world = new SourceWorld().add(account(1, 'ann'))
  const start = Date.UTC(2025, 0, 1)
  for (let id = 1; id <= sessions; id += 1) {
    const TrainerSegment = Array.from({ length: SEGMENTS }, (_, index) =>
      trainerSegment(id * SEGMENTS + index, { order: index, distanceTravelled: (id % 1000) / 1000 }),
    )
    const created_at = new Date(start + id * 60_000).toISOString()
    world.add(trainingSession(id, 1, { created_at, TrainerSegment }))
  }
  const { url } = await startSource({ world, identity: '/users/me' })
  process.send?.(url)
}

async function urlOf(source: ChildProcess): Promise<string> {
  const [url] = await Promise.race([once(source, 'message'), once(source, 'exit').then(() => [])])
  if (typeof url !== 'string') throw new Error('the source of the benchmark ended early')
  return url
}
