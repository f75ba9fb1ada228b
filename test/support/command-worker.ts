import { Readable, Writable } from 'node:stream'
import { inspect } from 'node:util'
import { runCommand } from '../../src/cli.ts'

/**
 * A process that runs commands one after another: each as it would run alone, with its own folder, settings, stdin, stdout
 * and stderr, but without the start of a process.
 */

/** A command to run. */
export interface Order {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly input: string
}

export interface Ended {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const home = process.cwd()

process.on('message', (order: Order) => void run(order).then(ended => process.send?.(ended)))
process.on('disconnect', () => process.exit())

async function run({ args, cwd, env, input }: Order): Promise<Ended> {
  process.chdir(cwd)
  process.env = env
  process.exitCode = undefined
  const stdout = collector()
  const stderr = collector()
  replaceStream('stdin', input === '' ? Readable.from([]) : Readable.from([Buffer.from(input)]))
  replaceStream('stdout', stdout.stream)
  replaceStream('stderr', stderr.stream)
  try {
    await runCommand(args)
  } catch (error) {
    // Node prints an uncaught error, and exits with 1.
    stderr.stream.write(`${inspect(error)}\n`)
    process.exitCode = 1
  }
  const code = exitCode()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal)
  process.exitCode = undefined
  // The folder goes away with the test.
  process.chdir(home)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** What the command has set, which the compiler cannot know of. */
function exitCode(): number {
  return Number(process.exitCode ?? 0)
}

function replaceStream(name: 'stdin' | 'stdout' | 'stderr', stream: Readable | Writable) {
  Object.defineProperty(process, name, { value: stream, configurable: true })
}

function collector() {
  const parts: Buffer[] = []
  const stream = new Writable({
    write(part: Buffer, _encoding, done) {
      parts.push(part)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(parts).toString() }
}
