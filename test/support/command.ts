import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { settings } from '../../src/config.ts'
import { open, type Store } from '../../src/store/index.ts'
import { atEnd } from './at-end.ts'
import type { Ended, Order } from './command-worker.ts'
import { newPostgres, postgresUrl } from './databases.ts'

/** Runs the command line. */

export type { Ended } from './command-worker.ts'

export const launcher = join(import.meta.dirname, '../../lockstep')

/** Hundreds of starts compile the same files; keeping the compiled code saves a third of the time of each. */
const compiled = join(import.meta.dirname, '../../node_modules/.cache/lockstep-tests')

export interface RunOptions {
  readonly cwd?: string
  /** Settings; those of the test itself are not passed on. */
  readonly env?: Readonly<Record<string, string>>
  /** What is piped to stdin; without it stdin is empty. Never a terminal. */
  readonly input?: string
}

/** A command that is running. Leaving its scope kills it. */
export interface Running extends AsyncDisposable {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** Its output so far. */
  readonly said: { readonly stdout: string; readonly stderr: string }
  /** Waits until stdout contains this. Rejects if the command ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>
}

/**
 * Runs a command to its end, where possible in a process that has run others before: starting one for each takes most of the
 * time. What a test promises about the process itself, it shows with `launch`.
 */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { env = {} } = options
  const isSetting = (name: string) => name.startsWith('LOCKSTEP_')
  // These stay, and Node reads its own settings at the start.
  if (['serve', 'demo', 'mcp'].includes(args[0] ?? '') || !Object.keys(env).every(isSetting))
    return launch(args, options)
  return runShared(args, options)
}

/** The same in a process that was started with these variables, as the C library reads some at the start. */
export async function runShared(
  args: readonly string[],
  { cwd = process.cwd(), env = {}, input = '' }: RunOptions = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const key = JSON.stringify(variables)
  const waiting = idle.get(key) ?? []
  idle.set(key, waiting)
  const worker = waiting.pop() ?? startWorker(variables)
  const ended = await order(worker, { args, cwd, env: environment({ ...variables, ...env }), input })
  waiting.push(worker)
  return ended
}

/** The idle ones, by the variables that they were started with. */
const idle = new Map<string, ChildProcess[]>()
atEnd(async () => {
  for (const worker of [...idle.values()].flat()) {
    worker.disconnect()
    await once(worker, 'exit')
  }
})

function startWorker(variables: Readonly<Record<string, string>>): ChildProcess {
  return fork(join(import.meta.dirname, 'command-worker.ts'), { execArgv: [], env: environment(variables) })
}

async function order(worker: ChildProcess, order: Order): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>()
  const fail = (code: number | null) => reject(new Error(`the process that runs commands exited with ${code}`))
  // The worker has no other messages.
  worker.once('message', message => resolve(message as Ended)).once('exit', fail)
  worker.ref()
  worker.channel?.ref()
  try {
    worker.send(order)
    return await promise
  } finally {
    worker.off('exit', fail)
    // While it runs no command, it does not keep this process alive.
    worker.unref()
    worker.channel?.unref()
  }
}

/** Runs a command to its end in a process of its own, started by the launcher. */
export async function launch(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  await using running = start(args, options)
  running.process.stdin?.end(options.input ?? '')
  return await running.ended
}

/** Runs a line of shell in which `$0` is the launcher. */
export async function shell(line: string, { cwd, env = {} }: Omit<RunOptions, 'input'> = {}): Promise<Ended> {
  await using running = track(spawn('/bin/sh', ['-c', line, launcher], { cwd, env: environment(env) }))
  running.process.stdin?.end()
  return await running.ended
}

export function start(args: readonly string[], { cwd, env = {} }: RunOptions = {}): Running {
  return track(spawn(launcher, args, { cwd, env: environment(env) }))
}

/** A folder that is removed with its scope, and what a test does in it. */
export interface Folder extends AsyncDisposable {
  readonly path: string
  /** The database of its commands, unless they name another one. */
  readonly databaseUrl: string
  /** The path of a file in it. */
  file(name: string): string
  /** Runs a command in it. */
  run(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Promise<Ended>
  /** The same, for a command that must do its work. */
  succeeds(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Promise<Ended>
  /** The same, for one that must end with this code, and say why on stderr. */
  refuses(args: readonly string[], code: number, says: RegExp, options?: Omit<RunOptions, 'cwd'>): Promise<Ended>
  /** Runs a command in it, in a process of its own. */
  launch(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Promise<Ended>
  start(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Running
  /** Starts another program in it. */
  spawn(program: string, args: readonly string[]): Running
  /** The same for a line of shell in which `$0` is the launcher. */
  shell(line: string, options?: Pick<RunOptions, 'env'>): Promise<Ended>
  /** The store of that; closed with the scope. */
  store(): Promise<Store & AsyncDisposable>
}

/** Where the run of the tests is the one on PostgreSQL, the commands in the folder work on a database there. */
export async function makeFolder(): Promise<Folder> {
  const path = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  const database = postgresUrl === undefined ? undefined : await newPostgres(postgresUrl)
  const given: Readonly<Record<string, string>> =
    database === undefined ? {} : { [settings.databaseUrl.env]: database.url }
  const inside = ({ env, ...options }: RunOptions = {}) => ({ ...options, env: { ...given, ...env }, cwd: path })
  const databaseUrl = database?.url ?? `sqlite:${join(path, 'data/lockstep.db')}`
  const ended = async (args: readonly string[], code: number, options?: RunOptions) => {
    const found = await run(args, inside(options))
    assert.equal(found.code, code, `${args.join(' ')}: ${found.stderr}`)
    return found
  }
  return {
    path,
    databaseUrl,
    file: name => join(path, name),
    run: (args, options) => run(args, inside(options)),
    succeeds: (args, options) => ended(args, 0, options),
    async refuses(args, code, says, options) {
      const found = await ended(args, code, options)
      assert.match(found.stderr, says)
      return found
    },
    launch: (args, options) => launch(args, inside(options)),
    start: (args, options) => start(args, inside(options)),
    spawn: (program, args) => track(spawn(program, args, { cwd: path, env: environment(given) })),
    shell: (line, options) => shell(line, inside(options)),
    async store() {
      const store = await open(databaseUrl, { busyTimeoutMs: 5000 })
      return { ...store, [Symbol.asyncDispose]: () => store.close() }
    },
    async [Symbol.asyncDispose]() {
      await database?.remove()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

function track(process: ChildProcess): Running {
  const said = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    process[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      for (const listener of listeners) listener()
    })
  }
  // A command that ends early does not read its stdin.
  process.stdin?.on('error', () => {})
  const ended = new Promise<Ended>((resolve, reject) => {
    process.on('error', reject)
    process.on('close', code => resolve({ code, ...said }))
  })
  return {
    process,
    ended,
    said,
    says: pattern =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(said.stdout)
          if (found === null) return
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        ended.then(({ stderr }) => reject(new Error(`ended without saying ${pattern}: ${stderr}`)), reject)
        look()
      }),
    async [Symbol.asyncDispose]() {
      process.kill('SIGKILL')
      await ended
    },
  }
}

function environment(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LOCKSTEP_'))
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: compiled, ...settings }
}
