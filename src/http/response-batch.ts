import type { Response } from './response.ts'

/**
 * Ends answers together, after all requests that have arrived are judged: each one sent alone wakes up whoever waits for
 * it, and on the same machine that costs more than making a small answer.
 */
export class ResponseBatch {
  #waiting: { readonly response: Response; readonly body: Body }[] = []
  #bytes = 0

  add(response: Response, body: Body, bytes: number) {
    response.isEnding = true
    this.#waiting.push({ response, body })
    this.#bytes += bytes
    if (this.#bytes > MAX_BATCH_BYTES) this.#send()
    else if (this.#waiting.length === 1) setImmediate(() => this.#send())
  }

  #send() {
    const all = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const { response, body } of all) {
      if (typeof body !== 'object') {
        response.end(body)
        continue
      }
      // Node keeps them together: all are one write to the socket.
      for (const part of body) response.write(part)
      response.end()
    }
  }
}

/** A text, in parts where it is not worth a copy to join them. */
export type Body = string | readonly string[] | undefined

const MAX_BATCH_BYTES = 1024 * 1024
