import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'

/** Sends requests and parses responses as bytes, because a client library would hide or repair errors in them. */

export interface RawAnswer {
  readonly status: number
  readonly reason: string
  /** As sent, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** The value of a header; undefined if it was not sent. Fails if it was sent more than once. */
export function header(answer: RawAnswer, name: string): string | undefined {
  const found = answer.headers.filter(([sent]) => sent.toLowerCase() === name.toLowerCase())
  assert.ok(found.length <= 1, `${name} was sent ${found.length} times`)
  return found[0]?.[1]
}

/** A connection that sends arbitrary bytes. */
export interface Connection extends Disposable {
  readonly socket: Socket
  send(bytes: string | Buffer): void
  /** Ends this side of the connection. */
  half(): void
  /** The next response. Rejects if the connection ends before it is complete, or if it does not arrive in time. */
  answer(method?: string): Promise<RawAnswer>
  /** Waits until the service has closed the connection; resolves with what it sent after the responses that were read. */
  closed(): Promise<string>
  /** Everything that arrived and was not read as a response. */
  rest(): string
}

/** Long, so that nothing fails because the machine is slow. */
const ANSWER_TIMEOUT_MS = 180_000

export function open(port: number, host = '127.0.0.1'): Connection {
  let received = Buffer.alloc(0)
  let wake = () => {}
  const socket = connect({ port, host, noDelay: true, allowHalfOpen: true })
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  const end = new AbortController()
  for (const event of ['end', 'close', 'error']) {
    socket.on(event, () => {
      end.abort()
      wake()
    })
  }

  /** Waits for the next event of the connection. */
  const news = (deadline: number, what: string) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${what}; so far: ${JSON.stringify(received.toString('latin1').slice(0, 300))}`)),
        Math.max(0, deadline - performance.now()),
      )
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  return {
    socket,
    send: bytes => void socket.write(bytes),
    half: () => void socket.end(),
    async answer(method = 'GET') {
      const deadline = performance.now() + ANSWER_TIMEOUT_MS
      for (;;) {
        const taken = takeAnswer(received, () => method)
        if (taken !== undefined) {
          received = received.subarray(taken.length)
          return taken.answer
        }
        assert.ok(
          !end.signal.aborted,
          `the connection ended without a whole answer: ${received.toString('latin1').slice(0, 300)}`,
        )
        await news(deadline, 'no answer came in time')
      }
    },
    async closed() {
      const deadline = performance.now() + ANSWER_TIMEOUT_MS
      while (!end.signal.aborted) await news(deadline, 'the connection stayed open')
      socket.destroy()
      return received.toString('latin1')
    },
    rest: () => received.toString('latin1'),
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** Sends one request and returns its response, and whether the connection can be used for another one. */
export async function exchange(
  port: number,
  request: string | Buffer,
): Promise<RawAnswer & { readonly kept: boolean }> {
  using connection = open(port)
  connection.send(request)
  const answer = await connection.answer(methodOf(request))
  if (header(answer, 'Connection') === 'close') {
    assert.equal(await connection.closed(), '', 'after its last answer the service sends nothing')
    return { ...answer, kept: false }
  }
  connection.send(LAST_REQUEST)
  assert.equal(header(await connection.answer(), 'Connection'), 'close', 'a connection that is kept answers again')
  assert.equal(await connection.closed(), '')
  return { ...answer, kept: true }
}

/** All responses to what is sent, until the service closes the connection: at the latest after a request of ours that asks for it. */
export async function answersTo(
  port: number,
  bytes: string | Buffer,
  methods: readonly string[] = [],
): Promise<RawAnswer[]> {
  using connection = open(port)
  connection.send(Buffer.concat([Buffer.from(bytes), Buffer.from(LAST_REQUEST)]))
  const answers = parseAnswers(Buffer.from(await connection.closed(), 'latin1'), methods)
  return answers.at(-1)?.body === '{"ok":true}' ? answers.slice(0, -1) : answers
}

export const LAST_REQUEST = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** Finds the method of the request of a response: that to HEAD has no body. */
type MethodOf = (head: RawAnswer) => string

/** Parses bytes as responses. Fails if bytes are left over or are not HTTP. */
export function parseAnswers(bytes: Buffer, methods: readonly string[] | MethodOf = []): RawAnswer[] {
  const answers: RawAnswer[] = []
  let left = bytes
  while (left.length > 0) {
    const taken = takeAnswer(left, typeof methods === 'function' ? methods : () => methods[answers.length] ?? 'GET')
    if (taken === undefined) assert.fail(`no whole answer: ${left.toString('latin1').slice(0, 300)}`)
    answers.push(taken.answer)
    left = left.subarray(taken.length)
  }
  return answers
}

function methodOf(request: string | Buffer): string {
  return request.toString('latin1').startsWith('HEAD ') ? 'HEAD' : 'GET'
}

/** The first response in these bytes and its length; undefined if it is not complete. */
function takeAnswer(bytes: Buffer, methodOfRequest: MethodOf): { answer: RawAnswer; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  if (first === INTERIM && lines.length === 0) return afterInterim(bytes, end + 4, methodOfRequest)
  const start = /^HTTP\/1\.1 ([2-5]\d\d) ([ -~]*)$/.exec(first)
  if (start === null) assert.fail(`no status line: ${JSON.stringify(first)}`)
  const headers = lines.map(line => {
    const parts = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([ -~]*)$/.exec(line)
    if (parts === null) assert.fail(`no header line: ${JSON.stringify(line)}`)
    return [parts[1] ?? '', parts[2] ?? ''] as const
  })
  const head = { status: Number(start[1]), reason: start[2] ?? '', headers, body: '' }
  assert.equal(header(head, 'Transfer-Encoding'), undefined, 'answers say their length')
  const bodyless = methodOfRequest(head) === 'HEAD' || head.status === 204 || head.status === 304
  const size = bodyless ? 0 : Number(header(head, 'Content-Length'))
  assert.ok(Number.isInteger(size), 'an answer with a body says its length')
  const length = end + 4 + size
  if (bytes.length < length) return undefined
  return { answer: { ...head, body: bytes.toString('utf8', end + 4, length) }, length }
}

const INTERIM = 'HTTP/1.1 100 Continue'

function afterInterim(bytes: Buffer, length: number, methodOfRequest: MethodOf) {
  const next = takeAnswer(bytes.subarray(length), methodOfRequest)
  return next && { ...next, length: length + next.length }
}
