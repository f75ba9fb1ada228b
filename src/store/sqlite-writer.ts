import { parentPort, workerData } from 'node:worker_threads'
import { openWriter } from './sqlite-connection.ts'
import { makeExecutor } from './sqlite-executor.ts'
import type { WriterData, WriterResponse, WriterRequest } from './sqlite-thread.ts'

/** Runs as a thread: executes the statements it is sent, in their order, on the connection that writes. */

// Whoever starts the thread passes the path and options.
const { path, options } = workerData as WriterData
const executor = makeExecutor(openWriter(path, options))

parentPort?.on('message', (request: WriterRequest) => {
  if (request === 'close') {
    void executor.close()
    parentPort?.close()
  } else {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    parentPort?.postMessage(execute(request))
  }
})

function execute({ sql, parameters }: Exclude<WriterRequest, 'close'>): WriterResponse {
  try {
    // The statements of this executor run at once.
    return { result: executor.execute(sql, parameters) as Awaited<ReturnType<typeof executor.execute>> }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    return { error: { message, errcode } }
  }
}
