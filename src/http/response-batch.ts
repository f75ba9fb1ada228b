import type { OpenBody } from '../resources/results.ts'
import type { Response } from './node-internals.ts'

/**
 * Ends responses together, after all requests that have arrived are handled: each one sent alone wakes up its client, and
 * on the same machine that costs more than making a small response.
 */
export class ResponseBatch {
  #waiting: { readonly response: Response; readonly body: Body }[] = []
  #bytes = 0

  add(response: Response, body: Body, bytes: number) {
    this.#waiting.push({ response, body })
    this.#bytes += bytes
    if (this.#bytes > MAX_BATCH_BYTES) this.#send()
    else if (this.#waiting.length === 1) setImmediate(() => this.#send())
  }

  #send() {
    const batch = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const { response, body } of batch) {
      if (typeof body !== 'object') response.end(body)
      else if ('bytes' in body) response.end(body.bytes, body.release)
      else {
        // Node collects them and writes to the socket once.
        for (const part of body) response.write(part)
        response.end()
      }
    }
  }
}

/** A text, in parts if joining them is not worth a copy. */
export type Body = string | OpenBody | readonly string[] | undefined

const MAX_BATCH_BYTES = 1024 * 1024
