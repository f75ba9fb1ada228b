/** JSON of servers that are not trusted: its size, its depth and the number of its values are bounded. */

/** The response is longer, or has more in it, than its reader accepts; the message says what. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError'
}

/** The text of a response, whose body comes in chunks, if it has one; reading ends, and the connection with it, once it is too long. Throws ResponseTooLargeError. */
export async function readBody(
  { body }: { readonly body: AsyncIterable<Uint8Array> | null },
  maxMebibytes: number,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxMebibytes * 1024 * 1024) throw new ResponseTooLargeError(`more than ${maxMebibytes} MiB`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/**
 * Throws ResponseTooLargeError for a text whose parsed form could take many times its own memory. It need not be JSON: the
 * parser stops where it is not.
 */
export function checkJsonSize(text: string) {
  let depth = 0
  let values = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1
      values += 1
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1
    else if (code === COMMA) values += 1
    if (depth > MAX_DEPTH) throw new ResponseTooLargeError(`JSON that is nested more than ${MAX_DEPTH} deep`)
    if (values > MAX_VALUES) throw new ResponseTooLargeError(`JSON of more than ${MAX_VALUES} values`)
  }
}

/** As deep as a record may be in its envelope. */
const MAX_DEPTH = 40
/** A page of 100 records with a thousand segments each has fewer. */
const MAX_VALUES = 2_500_000

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The index of the quote that ends the string, or of the end of the text. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) return index
    if (code === BACKSLASH) index += 1
  }
  return text.length
}
