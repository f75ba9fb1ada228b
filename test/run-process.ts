import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Message, TestResult } from './run-files.ts'

/** A process that runs test files one after the other. */
export interface TestProcess {
  readonly pid: number
  /** Ends with the process, whatever ended it. */
  readonly ended: Promise<unknown>
  /** Whether it can run no more files. */
  hasEnded(): boolean
  /** Returns the results of the tests of a file; `onTest` gets each when it is there. */
  run(file: string, onTest: (result: TestResult) => void): Promise<TestResult[]>
  /** Ends it after its last file. Returns what was wrong with that. */
  end(): Promise<TestResult[]>
}

interface ProcessOptions {
  readonly env: NodeJS.ProcessEnv
  /** Longer than any file takes. A process that reports no test for longer left something open, and is ended. */
  readonly limitMinutes: number
}

export function startProcess({ env, limitMinutes }: ProcessOptions): TestProcess {
  const child = fork(join(import.meta.dirname, 'run-files.ts'), {
    // It leads a group of its own, so that what it started ends with it.
    detached: true,
    env: { ...env, TEST_LIMIT_MINUTES: String(limitMinutes) },
  })
  const { pid } = child
  if (pid === undefined) throw new Error('there is no process for test files')
  let isSilent = false
  let hasFailed = false
  let receive: (message: Message) => void = () => {}
  const limit = setTimeout(
    () => {
      isSilent = true
      process.kill(-pid, 'SIGKILL')
    },
    (limitMinutes + 1) * 60_000,
  )
  // It sends nothing else.
  child.on('message', (message: unknown) => {
    limit.refresh()
    receive(message as Message)
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    clearTimeout(limit)
    return isSilent ? `it reported no test for ${limitMinutes} minutes` : `it ended with ${signal ?? code}`
  })
  const fault = (reason: string): TestResult => ({ title: 'the process', outcome: 'failed', reason })
  return {
    pid,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async run(file, onTest) {
      const found: TestResult[] = []
      const complete = new Promise<undefined>(resolve => {
        receive = message => {
          if (message === 'ended') return resolve(undefined)
          found.push(message)
          onTest(message)
        }
      })
      child.send(file)
      const reason = await Promise.race([complete, ended])
      if (reason !== undefined) found.push(fault(reason))
      if (found.length === 0) found.push({ title: 'its tests', outcome: 'failed', reason: 'there are none' })
      hasFailed ||= found.some(({ outcome }) => outcome === 'failed')
      return found
    },
    async end() {
      if (child.connected) child.send(false)
      const reason = await ended
      // With a failed test it ends with 1.
      return child.exitCode === 0 || hasFailed ? [] : [fault(reason)]
    },
  }
}
