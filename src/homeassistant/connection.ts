import { Refusal } from '../contract/refusal.ts'

export class HomeAssistant {
  readonly #socket: WebSocket
  readonly #token: string
  /** The answers that are waited for, by the id of their command; that to the token has none of its own. */
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #id = SIGN_IN
  #end: Error | undefined

  private constructor(url: string, token: string, signal: AbortSignal) {
    this.#socket = new WebSocket(url)
    this.#token = token
    this.#socket.addEventListener('message', ({ data }) => this.#receive(parseAnswer(data)))
    this.#socket.addEventListener('error', () => this.#fail(new Refusal('peer-away', 'Home Assistant does not answer')))
    this.#socket.addEventListener('close', () => {
      this.#fail(new Refusal('peer-away', 'Home Assistant closed the connection'))
    })
    signal.addEventListener('abort', () => this.#fail(signal.reason as Error), { once: true })
  }

  /** Connects and signs in. Throws Refusal if the token is wrong, or not that of an administrator, who alone may write statistics. */
  static async connect(url: string, token: string, signal: AbortSignal): Promise<HomeAssistant> {
    signal.throwIfAborted()
    const connection = new HomeAssistant(url, token, signal)
    try {
      await connection.#answer(SIGN_IN)
      const user = await connection.call('auth/current_user', {})
      if (typeof user === 'object' && user !== null && 'is_admin' in user && user.is_admin === true) return connection
      throw new Refusal(
        'peer',
        'the token is not that of an administrator: create it in the profile of one in Home Assistant',
      )
    } catch (error) {
      connection[Symbol.dispose]()
      throw error
    }
  }

  /** The result of a command. Throws Refusal with the reason if it is refused. */
  async call(type: string, fields: object): Promise<unknown> {
    if (this.#end !== undefined) throw this.#end
    const id = (this.#id += 1)
    this.#socket.send(JSON.stringify({ id, type, ...fields }))
    return await this.#answer(id)
  }

  [Symbol.dispose]() {
    this.#fail(new Refusal('peer-away', 'the connection was closed'))
  }

  async #answer(id: number): Promise<unknown> {
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    const timer = setTimeout(
      () => this.#fail(new Refusal('peer-away', 'Home Assistant does not answer')),
      ANSWER_TIMEOUT_MS,
    )
    try {
      return await waiting.promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(id)
    }
  }

  #receive({ id = SIGN_IN, type, message, success, result, error }: Answer) {
    const waiting = this.#waiting.get(id)
    if (type === 'auth_required') this.#socket.send(JSON.stringify({ type: 'auth', access_token: this.#token }))
    else if (type === 'auth_ok') waiting?.resolve(undefined)
    else if (type === 'auth_invalid') waiting?.reject(refusal('the token', message))
    else if (type === 'result' && success === true) waiting?.resolve(result)
    else if (type === 'result') waiting?.reject(refusal('a command', error?.message ?? error?.code))
  }

  #fail(error: Error) {
    this.#end ??= error
    for (const { reject } of this.#waiting.values()) reject(this.#end)
    this.#socket.close()
  }
}

/** Below the ids of commands, which Home Assistant demands to be positive. */
const SIGN_IN = 0
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

function refusal(what: string, reason = 'it said nothing more'): Refusal {
  return new Refusal('peer', `Home Assistant refused ${what}: ${reason}`)
}
