import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { exportArchive } from '../../src/archive/export.ts'
import { importArchive } from '../../src/archive/import.ts'
import { readConfig } from '../../src/config.ts'
import { makeLog } from '../../src/http/log.ts'
import { startService } from '../../src/cli/service.ts'
import { open } from '../../src/store/index.ts'
import { launcher } from './command.ts'
import { account, trainerSegment, trainingSession } from './records.ts'

/** Runs work in a process of its own and measures its memory. This file is also the program of that process. */

export interface Job {
  readonly work: 'import' | 'export' | 'serve'
  readonly url: string
  /** How many records are imported. */
  readonly count?: number
  /** Whether the store is opened as the command line does for an import. */
  readonly bulk?: boolean
}

interface Report {
  readonly said: 'storing' | 'listening' | 'done' | 'memory'
  /** Where the service is. */
  readonly baseUrl?: string
  /** The most memory so far, in MB. */
  readonly megabytes: number
}

/** A process at its work. Leaving its scope kills it. */
export interface Worker extends AsyncDisposable {
  /** The bytes that its database takes on the disk, with its temporary files, which have no name. Needs /proc. */
  diskBytes(): number
  /** The next report. Rejects when the process ends without one. */
  hear(said: Report['said']): Promise<Report>
  /** Asks for a report of the memory. */
  memory(): Promise<Report>
}

export function startWorker(job: Job): Worker {
  // A small heap shows what accumulates, because garbage collection cannot be delayed.
  const execArgv = job.work === 'serve' ? heapOptions() : ['--max-semi-space-size=4', '--max-old-space-size=48']
  const child: ChildProcess = fork(import.meta.filename, [JSON.stringify(job)], {
    execArgv,
    // It loads the test runner with other modules, which prints that there were no tests.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  const reports: Report[] = []
  const listeners = new Set<() => void>()
  child.on('message', (report: Report) => {
    reports.push(report)
    for (const listener of listeners) listener()
  })
  const folder = dirname(job.url.slice('sqlite:'.length))
  const self: Worker = {
    diskBytes() {
      const opened = `/proc/${child.pid}/fd`
      const unnamed = statsIn(opened).filter(({ nlink }) => nlink === 0)
      return [...unnamed, ...statsIn(folder)].reduce((sum, { size }) => sum + size, 0)
    },
    hear: said =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = reports.find(report => report.said === said)
          if (found === undefined) return
          reports.splice(reports.indexOf(found), 1)
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        // What it sent before its end may still be on its way.
        ended.then(() => setImmediate(() => reject(new Error(`the process ended without saying ${said}`))), reject)
        look()
      }),
    memory() {
      child.send('memory')
      return self.hear('memory')
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
  return self
}

/** Of the files in a folder; none if the folder is gone. */
function statsIn(folder: string): Stats[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap(name => statSync(join(folder, name), { throwIfNoEntry: false }) ?? [])
}

/** The options that the launcher starts Node with. */
function heapOptions(): string[] {
  const [, options = ''] = /^heap='(.+)'$/m.exec(readFileSync(launcher, 'utf8')) ?? []
  return options.split(' ')
}

/** Lets a process do all its work, and returns the most memory it took, in MB. */
export async function measure(job: Job): Promise<number> {
  await using worker = startWorker(job)
  const { megabytes } = await worker.hear('done')
  return megabytes
}

/** An archive of one account and so many training sessions with 12 results each, as chunks of a file. */
export async function* largeArchive(count: number): AsyncGenerator<Buffer> {
  let text = `${JSON.stringify(account(1, 'ann'))}\n`
  for (let id = 1; id <= count; id += 1) {
    const segments = Array.from({ length: 12 }, (_, index) =>
      trainerSegment(id * 12 + index, { order: index, distanceTravelled: (id % 1000) / 1000 }),
    )
    const minute = new Date(Date.UTC(2025, 0, 1) + ((id * 7919) % 525_600) * 60_000).toISOString()
    text += `${JSON.stringify(trainingSession(id, 1, { created_at: minute, TrainerSegment: segments }))}\n`
    if (text.length < 256 * 1024) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

async function run({ work, url, count = 0, bulk = false }: Job) {
  const store = await open(url, { busyTimeoutMs: 5000, bulk })
  if (work === 'serve') {
    const config = readConfig({ LOCKSTEP_PORT: '0', LOCKSTEP_OVERLOAD_LAG: '0' })
    const { url: baseUrl } = await startService({ store, config, log: makeLog(() => {}, { accessLog: false }) })
    process.on('message', () => report('memory'))
    report('listening', baseUrl)
    return
  }
  if (work === 'import') {
    await importArchive(store, largeArchive(count), {
      progress: bytes => {
        if (bytes === undefined) report('storing')
      },
    })
  } else {
    await exportArchive(store, () => new Promise<void>(resolve => void setImmediate(resolve)))
  }
  report('done')
  await store.close()
  process.disconnect?.()
}

function report(said: Report['said'], baseUrl?: string) {
  const megabytes = Math.round(process.resourceUsage().maxRSS / 1024)
  process.send?.({ said, megabytes, ...(baseUrl === undefined ? {} : { baseUrl }) } satisfies Report)
}

// The job is what this program was started with; a test that imports this file has no such argument.
const [, program, job] = process.argv
if (program === import.meta.filename && job !== undefined) await run(JSON.parse(job) as Job)
