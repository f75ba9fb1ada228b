import type { ErrorCode, FieldError } from './contract/errors.ts'
import type { Endpoints } from './contract/index.ts'

/** A typed client of the API. Its types come from the contract; at run time it needs only `fetch`. */

export type Path = keyof Endpoints
/** Paths that return a page of a list. */
export type ListPath = { [P in Path]: [Endpoints[P]['item']] extends [never] ? never : P }[Path]
type Given<A, Options> = {} extends A ? [given?: A, options?: Options] : [given: A, options?: Options]

export interface ClientOptions {
  /** Where the service is, such as `https://history.example`. */
  readonly baseUrl: string
  readonly token: string
  /** How requests are made; the platform's `fetch` if not given. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How the text of a response is read, for callers that bound it; whole if not given. */
  readonly read?: (response: Response) => Promise<string>
  /** How often a request is sent again after 429 or 503, each time after the seconds in `Retry-After`; 2 if not given. */
  readonly retries?: number
}

export interface GetOptions {
  readonly signal?: AbortSignal
}

export interface CallOptions extends GetOptions {
  /** The `etag` of a stored response: while that is current, the new response has no data. */
  readonly ifNoneMatch?: string
}

/** A response; `data` is undefined if the stored one is still current (304). */
export interface ApiResponse<D> {
  readonly status: 200 | 304
  readonly data: D | undefined
  readonly etag: string | undefined
  readonly headers: Headers
}

/** The service returned an error. Programs should check `code`; the message may change. */
export class LockstepError extends Error {
  override readonly name = 'LockstepError'
  readonly code: ErrorCode
  readonly status: number
  readonly requestId: string | undefined
  readonly fieldErrors: readonly FieldError[]
  /** Seconds to wait before the next try, where the service says so. */
  readonly retryAfter: number | undefined

  constructor(status: number, body: ErrorBody, retryAfter: number | undefined) {
    super(body.error)
    this.code = body.code
    this.status = status
    this.requestId = body.requestId
    this.fieldErrors = body.fieldErrors ?? []
    this.retryAfter = retryAfter
  }
}

/** The response is not from the service, but from a proxy in front of it or from another server. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'
  readonly status: number
  /** What the response is: a web page, JSON of something else, or anything else. */
  readonly content: 'page' | 'json' | 'other'
  /** Seconds to wait before the next try, where the response says so. */
  readonly retryAfter: number | undefined

  constructor(status: number, content: NoResponseError['content'], retryAfter: number | undefined) {
    super(`the response (status ${status}) is not one of this API: is the base URL right, and the service up?`)
    this.status = status
    this.content = content
    this.retryAfter = retryAfter
  }
}

export interface Client {
  /** The `data` of a response. Rejects with LockstepError, NoResponseError, or what `fetch` rejects with. */
  get<P extends Path>(path: P, ...rest: Given<Endpoints[P]['params'], GetOptions>): Promise<Endpoints[P]['data']>
  /** The whole response, for callers that store responses with their validators. */
  call<P extends Path>(
    path: P,
    ...rest: Given<Endpoints[P]['params'], CallOptions>
  ): Promise<ApiResponse<Endpoints[P]['data']>>
  /** Every record of a list, page by page, none twice and none missed while others are added. */
  all<P extends ListPath>(
    path: P,
    ...rest: Given<Omit<Endpoints[P]['params'], 'offset' | 'cursor'>, GetOptions>
  ): AsyncGenerator<Endpoints[P]['item']>
}

export function makeClient(options: ClientOptions): Client {
  const { baseUrl, token, fetch = globalThis.fetch, read = response => response.text(), retries = 2 } = options
  const send = async <P extends Path>(
    path: P,
    given: object,
    { signal, ifNoneMatch }: CallOptions,
  ): Promise<ApiResponse<Endpoints[P]['data']>> => {
    const condition = ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch }
    const response = await fetch(urlOf(baseUrl, path, given), {
      headers: { Authorization: `Bearer ${token}`, Accept: 'application/json', ...condition },
      // Not followed: it could send the token to another server.
      redirect: 'manual',
      ...(signal === undefined ? {} : { signal }),
    })
    const etag = response.headers.get('ETag') ?? undefined
    if (response.status === 304) return { status: 304, data: undefined, etag, headers: response.headers }
    const text = await read(response)
    const body = parse(text)
    if (response.status === 200 && isEnvelope(body, true)) {
      // The service sends what the contract promises for the path; its tests hold it to that.
      return { status: 200, data: body.data as Endpoints[P]['data'], etag, headers: response.headers }
    }
    const retryAfter = secondsOf(response.headers.get('Retry-After'))
    if (!isEnvelope(body, false)) {
      const isPage = response.headers.get('Content-Type')?.includes('html') === true || /^\s*</.test(text)
      throw new NoResponseError(response.status, isPage ? 'page' : body === undefined ? 'other' : 'json', retryAfter)
    }
    // Every error of the service has these fields.
    throw new LockstepError(response.status, body as unknown as ErrorBody, retryAfter)
  }

  const call = async <P extends Path>(path: P, given: object = {}, options: CallOptions = {}) => {
    for (let left = retries; ; left -= 1) {
      try {
        return await send(path, given, options)
      } catch (error) {
        if (left <= 0 || !(error instanceof LockstepError) || ![429, 503].includes(error.status)) throw error
        await wait(error.retryAfter ?? 1, options.signal)
      }
    }
  }

  async function* all<P extends ListPath>(path: P, given: object = {}, options: GetOptions = {}) {
    let cursor: string | null = ''
    while (cursor !== null) {
      const { data } = await call(path, { limit: 100, ...given, cursor }, options)
      // A page by cursor has this shape.
      const page = data as { data: Endpoints[P]['item'][]; pagination: { nextCursor: string | null } }
      yield* page.data
      cursor = page.pagination.nextCursor
    }
  }

  return {
    async get<P extends Path>(path: P, ...[given, options]: Given<Endpoints[P]['params'], GetOptions>) {
      // Only a response to If-None-Match has no data.
      return (await call(path, given, options)).data as Endpoints[P]['data']
    },
    call: (path, ...[given, options]) => call(path, given, options),
    all: (path, ...[given, options]) => all(path, given, options),
  }
}

interface ErrorBody {
  readonly error: string
  readonly code: ErrorCode
  readonly requestId?: string
  readonly fieldErrors?: readonly FieldError[]
}

function urlOf(baseUrl: string, path: string, given: object): string {
  // The parameters of the contract have these types only.
  const { id, ...parameters } = given as Readonly<Record<string, string | number | boolean | undefined>>
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value))
  // The service reads a plus sign as itself, so a space must not be sent as one.
  const search = query.toString().replaceAll('+', '%20')
  return `${baseUrl.replace(/\/$/, '')}${path.replace(':id', String(id))}${search === '' ? '' : `?${search}`}`
}

function wait(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted === true) reject(signal.reason as Error)
      else resolve()
    }
    const timer = setTimeout(end, seconds * 1000)
    signal?.addEventListener('abort', end)
  })
}

/** The header has seconds or a date. */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isEnvelope(body: unknown, ok: boolean): body is { readonly data?: unknown } {
  return typeof body === 'object' && body !== null && 'ok' in body && body.ok === ok && (ok ? 'data' : 'code') in body
}
