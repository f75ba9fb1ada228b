import type { Response } from './response.ts'

/**
 * Ends answers together, after all requests that have arrived are judged: each one sent alone wakes up whoever waits for
 * it, and on the same machine that costs more than making a small answer.
 */
export class Outbox {
  #waiting: { readonly response: Response; readonly body: string | undefined }[] = []
  #bytes = 0

  add(response: Response, body: string | undefined, bytes: number) {
    response.isEnding = true
    this.#waiting.push({ response, body })
    this.#bytes += bytes
    if (this.#bytes > MOST_HELD) this.#send()
    else if (this.#waiting.length === 1) setImmediate(() => this.#send())
  }

  #send() {
    const all = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const { response, body } of all) response.end(body)
  }
}

const MOST_HELD = 1024 * 1024
