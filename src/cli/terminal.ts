import { createInterface } from 'node:readline'
import { cancel, confirm, isCancel, password } from '@clack/prompts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../accounts/passwords.ts'
import { escapeControls } from '../contract/control-characters.ts'
import { Refusal } from '../contract/refusal.ts'

/** What a command asks at a terminal, and how it is stopped. */

function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Asks for confirmation of what cannot be undone, unless --yes gives it. Throws Refusal if there is no terminal. */
export async function requireConfirmation(flags: { readonly yes?: boolean }, question: string): Promise<void> {
  if (flags.yes === true) return
  if (!isInteractive()) throw new Refusal('usage', 'this cannot be undone: add --yes to go ahead without a question')
  const answer = await confirm({ message: escapeControls(question), initialValue: false, output: process.stderr })
  if (answer !== true) {
    cancel('Nothing was changed.', { output: process.stderr })
    throw new Refusal('interrupted', 'nothing was changed')
  }
}

/** A password: entered twice on a terminal, else the first line of stdin. */
export async function askPassword(): Promise<string> {
  if (!isInteractive()) return firstLine()
  const first = await password({
    message: `New password (${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters)`,
    output: process.stderr,
  })
  const second = isCancel(first) ? first : await password({ message: 'Once more', output: process.stderr })
  if (isCancel(first) || isCancel(second)) throw new Refusal('interrupted', 'nothing was changed')
  if (first !== second) throw new Refusal('usage', 'the two passwords differ: nothing was changed')
  return first
}

export type StopSignals = ReturnType<typeof stopSignals>

/**
 * A signal that the first SIGTERM or SIGINT aborts; a second one ends the program at once. `message` says what an interrupted command
 * has changed.
 */
export function stopSignals(message: string) {
  const controller = new AbortController()
  const stop = () => controller.abort(new Refusal('interrupted', message))
  let interrupted = false
  process.once('SIGTERM', stop)
  process.once('SIGINT', () => {
    interrupted = true
    stop()
  })
  return { signal: controller.signal, isInterrupted: () => interrupted }
}

/** The code of an error of the system, such as ENOENT. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

async function firstLine(): Promise<string> {
  try {
    for await (const line of createInterface({ input: process.stdin })) return line
    return ''
  } finally {
    // The writer may keep the pipe open, which would keep this process alive.
    process.stdin.destroy()
  }
}
