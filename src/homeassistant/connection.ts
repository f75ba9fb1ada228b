import { PeerAwayError, PeerError } from './errors.ts'

/** A connection to the WebSocket API of Home Assistant. */
export class HomeAssistant {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #id = 0
  #end: Error | undefined

  private constructor(socket: WebSocket, signal: AbortSignal) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#receive(parseAnswer(data)))
    socket.addEventListener('close', () => this.#fail(new PeerAwayError('Home Assistant closed the connection')))
    signal.addEventListener('abort', () => this.#fail(signal.reason as Error), { once: true })
  }

  /** Connects and signs in. Throws PeerError if the token is wrong, or not that of an administrator, who alone may write statistics. */
  static async connect(url: string, token: string, signal: AbortSignal): Promise<HomeAssistant> {
    const socket = new WebSocket(url)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const away = () => reject(new PeerAwayError('Home Assistant does not answer'))
    const answer = ({ data }: MessageEvent) => {
      const { type, message } = parseAnswer(data)
      if (type === 'auth_required') socket.send(JSON.stringify({ type: 'auth', access_token: token }))
      else if (type === 'auth_ok') resolve()
      else reject(new PeerError(`Home Assistant refused the token: ${message ?? 'it said nothing more'}`))
    }
    socket.addEventListener('message', answer)
    socket.addEventListener('error', away)
    socket.addEventListener('close', away)
    const stop = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)])
    stop.addEventListener('abort', signal.aborted ? () => reject(signal.reason as Error) : away, { once: true })
    try {
      await promise
    } catch (error) {
      socket.close()
      throw error
    }
    socket.removeEventListener('message', answer)
    const connection = new HomeAssistant(socket, signal)
    const user = await connection.call('auth/current_user', {})
    if (typeof user === 'object' && user !== null && 'is_admin' in user && user.is_admin === true) return connection
    connection.close()
    throw new PeerError('the token is not that of an administrator: create it in the profile of one in Home Assistant')
  }

  /** The result of a command. Throws PeerError with the reason if it is refused. */
  async call(type: string, fields: object): Promise<unknown> {
    if (this.#end !== undefined) throw this.#end
    const id = (this.#id += 1)
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#socket.send(JSON.stringify({ id, type, ...fields }))
    const timer = setTimeout(() => this.#fail(new PeerAwayError('Home Assistant does not answer')), ANSWER_TIMEOUT_MS)
    try {
      return await waiting.promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(id)
    }
  }

  close() {
    this.#fail(new PeerAwayError('the connection was closed'))
  }

  #receive({ id, type, success, result, error }: Answer) {
    const waiting = id === undefined || type !== 'result' ? undefined : this.#waiting.get(id)
    if (waiting === undefined) return
    if (success === true) waiting.resolve(result)
    else waiting.reject(new PeerError(reasonOf(error)))
  }

  #fail(error: Error) {
    this.#end ??= error
    for (const { reject } of this.#waiting.values()) reject(this.#end)
    this.#socket.close()
  }
}

const ANSWER_TIMEOUT_MS = 60_000

interface Answer {
  readonly id?: number
  readonly type?: string
  readonly message?: string
  readonly success?: boolean
  readonly result?: unknown
  readonly error?: { readonly code?: string; readonly message?: string }
}

function parseAnswer(data: unknown): Answer {
  try {
    const answer: unknown = JSON.parse(String(data))
    return typeof answer === 'object' && answer !== null ? answer : {}
  } catch {
    return {}
  }
}

function reasonOf(error: Answer['error']): string {
  return `Home Assistant refused a command: ${error?.message ?? error?.code ?? 'it said nothing more'}`
}
