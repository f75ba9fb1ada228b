import type { Response } from './node-internals.ts'

/**
 * Ends responses together, after all requests that have arrived are handled: each one sent alone wakes up its client, and
 * on the same machine that costs more than making a small response.
 */
export class ResponseBatch {
  #waiting: { readonly response: Response; readonly body: Body; readonly bytes: number }[] = []
  #bytes = 0

  add(response: Response, body: Body, bytes: number) {
    this.#waiting.push({ response, body, bytes })
    this.#bytes += bytes
    if (this.#bytes > MAX_BATCH_BYTES) this.#send()
    else if (this.#waiting.length === 1) setImmediate(() => this.#send())
  }

  #send() {
    const batch = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const { response, body, bytes } of batch) {
      if (body === undefined || Buffer.isBuffer(body)) {
        response.end(body)
        continue
      }
      const parts = typeof body === 'string' ? [body] : body
      // Node takes room for three bytes of each character, and more time, unless it knows that each is one.
      const encoding = charactersOf(parts) === bytes ? 'latin1' : 'utf8'
      const last = parts.length - 1
      // It collects the parts and writes to the socket once.
      for (let index = 0; index < last; index += 1) response.write(parts[index], encoding)
      response.end(parts[last], encoding)
    }
  }
}

function charactersOf(parts: readonly string[]): number {
  let characters = 0
  for (const part of parts) characters += part.length
  return characters
}

/** A text, in parts if joining them is not worth a copy. */
export type Body = string | Buffer | readonly string[] | undefined

const MAX_BATCH_BYTES = 1024 * 1024
