import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SqliteExecutor, StatementResult } from './sqlite-executor.ts'
import { type OpenOptions, StoreUnavailableError } from './store.ts'

export interface WriterData {
  readonly path: string
  readonly options: OpenOptions
}

export type WriterRequest = { readonly sql: string; readonly parameters: readonly unknown[] } | 'close'

export type WriterResponse =
  | { readonly result: StatementResult }
  | { readonly error: { readonly message: string; readonly errcode: number | undefined } }

/**
 * Starts a thread that writes the database, so that a slow disk does not hold up the event loop: a commit waits until it is
 * synced. The thread does not keep the process alive, except while it executes a statement.
 */
export function startWriterThread({ path, options }: WriterData): SqliteExecutor {
  const { busyTimeoutMs, bulk = false } = options
  const data: WriterData = { path, options: { busyTimeoutMs, bulk, create: false } }
  const thread = new Worker(new URL('sqlite-writer.ts', import.meta.url), { workerData: data })
  const pending: PromiseWithResolvers<StatementResult>[] = []
  let failure: Error | undefined
  let isClosing = false

  const settle = (response: WriterResponse) => {
    const next = pending.shift()
    if (pending.length === 0 && !isClosing) thread.unref()
    if ('result' in response) next?.resolve(response.result)
    else next?.reject(Object.assign(new Error(response.error.message), { errcode: response.error.errcode }))
  }
  const fail = (cause?: unknown) => {
    failure ??= new StoreUnavailableError('the database cannot be written any more', { cause })
    for (const { reject } of pending.splice(0)) reject(failure)
  }
  thread.on('message', settle)
  thread.on('error', fail)
  thread.on('exit', () => fail())
  thread.unref()

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  const send = (request: WriterRequest) => thread.postMessage(request)
  return {
    execute(sql, parameters) {
      if (failure !== undefined) throw failure
      const result = Promise.withResolvers<StatementResult>()
      pending.push(result)
      thread.ref()
      send({ sql, parameters })
      return result.promise
    },
    async close() {
      if (failure !== undefined) return
      isClosing = true
      const exit = once(thread, 'exit')
      thread.ref()
      send('close')
      await exit
    },
  }
}
