import assert from 'node:assert/strict'
import type { FieldError } from '../../src/contract/errors.ts'
import type { TestResponse } from './service.ts'

/** Checks the exact bytes of a response: the envelope of a success around the data, with keys in the given order. */
export function assertData(answer: TestResponse, data: unknown) {
  assert.equal(answer.text, JSON.stringify({ ok: true, data }))
  assert.equal(answer.status, 200)
}

/** Identifiers of the records on a page, in their order. */
export function idsOf(answer: TestResponse): number[] {
  assert.equal(answer.status, 200, answer.text)
  return (answer.body.data.data as { id: number }[]).map(({ id }) => id)
}

interface Refusal {
  /** The text, if callers know it. */
  readonly error?: string | undefined
  readonly fieldErrors?: readonly FieldError[] | undefined
}

/** Checks the status, the code and the exact body of an error. */
export function assertRefused(
  answer: TestResponse,
  status: number,
  code: string,
  { error, fieldErrors }: Refusal = {},
) {
  assert.equal(`${answer.status} ${answer.body?.code}`, `${status} ${code}`, answer.text)
  const requestId = answer.headers.get('X-Request-Id')
  assert.match(requestId ?? '', /^[A-Za-z0-9._-]{16,}$/)
  const found = answer.body as { error: string; fieldErrors?: unknown }
  assert.equal(
    answer.text,
    JSON.stringify({
      ok: false,
      error: error ?? found.error,
      code,
      status,
      requestId,
      fieldErrors: fieldErrors ?? found.fieldErrors,
    }),
  )
  const ofParameters = code.endsWith('_parameter')
  assert.equal(
    found.fieldErrors !== undefined,
    ofParameters,
    'fieldErrors belong to errors of parameters, and to no others',
  )
}

/** A response without its request id, time and connection, so that two of them can be compared. */
export function withoutRequest({ status, headers, text }: TestResponse) {
  const requestId = headers.get('X-Request-Id') ?? ''
  return {
    status,
    headers: [...headers].filter(([name]) => !OF_THE_REQUEST.has(name)),
    text: text.replace(requestId, ''),
  }
}

// Node's fetch ends the connection after HEAD, so that header says nothing about the response.
const OF_THE_REQUEST = new Set(['x-request-id', 'date', 'connection', 'keep-alive'])

/** The same fields in reverse order: the order of the input must not decide that of the output. */
export function backwards<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).toReversed()) as Fields
}
