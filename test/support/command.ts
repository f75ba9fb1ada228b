import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { settings } from '../../src/config.ts'
import { open, type Store } from '../../src/store/index.ts'
import { newPostgres, postgresUrl } from './databases.ts'

/** The command line as people use it: real processes, started through the launcher. */

export const launcher = join(import.meta.dirname, '../../lockstep')

/** Hundreds of starts compile the same files: a third of the time of each is saved by keeping what was compiled. */
const compiled = join(import.meta.dirname, '../../node_modules/.cache/lockstep-tests')

export interface RunOptions {
  readonly cwd?: string
  /** Settings; those of the test itself are not passed on. */
  readonly env?: Readonly<Record<string, string>>
  /** What is piped to stdin; without it stdin is empty. Never a terminal. */
  readonly input?: string
}

export interface Ended {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that is running. Leaving its scope kills it. */
export interface Running extends AsyncDisposable {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** What it has said so far. */
  readonly said: { readonly stdout: string; readonly stderr: string }
  /** Waits until stdout holds this. Rejects when the command ends before it does. */
  says(pattern: RegExp): Promise<RegExpExecArray>
}

/** Runs a command of the launcher to its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
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

/** A folder that goes away with its scope, and what a test does in it. */
export interface Folder extends AsyncDisposable {
  readonly path: string
  /** The path of a file in it. */
  file(name: string): string
  /** Runs a command in it. */
  run(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Promise<Ended>
  start(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Running
  /** Starts another program in it. */
  spawn(program: string, args: readonly string[]): Running
  /** The same for a line of shell in which `$0` is the launcher. */
  shell(line: string): Promise<Ended>
  /** The store that its commands work on when nothing else is said; closed with the scope. */
  store(): Promise<Store & AsyncDisposable>
}

/** Where the run of the tests is the one on PostgreSQL, the commands in the folder work on a database there. */
export async function makeFolder(): Promise<Folder> {
  const path = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  const database = postgresUrl === undefined ? undefined : await newPostgres(postgresUrl)
  const given: Readonly<Record<string, string>> =
    database === undefined ? {} : { [settings.databaseUrl.env]: database.url }
  const inside = ({ env, ...options }: RunOptions = {}) => ({ ...options, env: { ...given, ...env }, cwd: path })
  return {
    path,
    file: name => join(path, name),
    run: (args, options) => run(args, inside(options)),
    start: (args, options) => start(args, inside(options)),
    spawn: (program, args) => track(spawn(program, args, { cwd: path, env: environment(given) })),
    shell: line => shell(line, inside()),
    async store() {
      const store = await open(database?.url ?? `sqlite:${join(path, 'data/lockstep.db')}`, { busyTimeoutMs: 5000 })
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
  // A command that ends early does not read what is piped to it.
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
