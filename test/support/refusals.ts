import type { ErrorCode, FieldError } from '../../src/contract/errors.ts'
import type { Promised } from './error-responses.ts'
import { bearer, lines, MARK, request, type Tokens } from './requests.ts'

/** Requests that are refused, as bytes, with the expected errors: every row of the error table in several forms. */

export interface Refused extends Omit<Promised, 'limited' | 'head'> {
  readonly title: string
  /** Bytes, written as Latin-1. */
  readonly send: string
}

const ONE = '/api/v1/dtt/sessions/5'
const LIST = '/api/v1/dtt/sessions'

export function refusals(tokens: Tokens): readonly Refused[] {
  return [
    ...ofCredentials(tokens),
    ...ofRights(tokens),
    ...ofParameters(tokens),
    ...ofPaths(tokens),
    ...ofTargets(tokens),
    ...ofMethods(tokens),
    ...ofHeaders(tokens),
    ...ofParsing(tokens),
  ]
}

function ofCredentials({ ann, revoked, expired, unknown }: Tokens): Refused[] {
  const missing = { 'WWW-Authenticate': 'Bearer realm="api"' }
  const challenge = (error: string, text: string) => ({
    'WWW-Authenticate': `Bearer realm="api", error="${error}", error_description="${text}"`,
  })
  const invalid = challenge('invalid_token', 'Invalid token')
  const broken = ann.slice(0, -1) + (ann.endsWith('0') ? '1' : '0')
  return [
    ...Object.entries({
      'no header': [],
      'an empty header': ['Authorization:'],
      'a header of spaces': ['Authorization:    '],
      'another scheme': [`Authorization: Basic ${MARK}`],
      'another scheme with the token': [`Authorization: Token ${ann}`],
      'the token alone': [`Authorization: ${ann}`],
      'the scheme alone': ['Authorization: Bearer'],
      'the scheme and a space': ['Authorization: Bearer '],
      'no space after the scheme': [`Authorization: Bearer${ann}`],
      'a tab after the scheme': [`Authorization: Bearer\t${ann}`],
      'the whole in quotes': [`Authorization: "Bearer ${ann}"`],
      'the scheme second in a list': [`Authorization: Basic ${MARK}, Bearer ${ann}`],
      'the token in a cookie': [`Cookie: token=${ann}`],
      'the token in a header of another name': [`X-Api-Key: ${ann}`],
    }).map(([title, headers]) => ({
      title,
      send: request('GET', ONE, ...headers),
      code: 'missing_token' as const,
      error: 'Missing or invalid Authorization header',
      headers: missing,
      closes: false,
    })),
    ...Object.entries({
      'text that is no token': MARK,
      'a token with a wrong checksum': broken,
      'a token that lacks a character': ann.slice(0, -1),
      'a token with one character more': `${ann}0`,
      'a token in capitals': ann.toUpperCase(),
      'a token in quotes': `"${ann}"`,
      'a token after a name': `token=${ann}`,
      'a token twice in a list': `${ann}, Bearer ${ann}`,
      'a token and a comma': `${ann},`,
      'a token twice': `${ann} ${ann}`,
      'a token with a byte that is not ASCII': `${ann}\xe9`,
      'a very long token': ann + MARK.repeat(1000),
      'a token that nobody has': unknown,
    }).map(([title, value]) => ({
      title,
      send: request('GET', ONE, bearer(value)),
      code: 'invalid_token' as const,
      error: 'Invalid token',
      headers: invalid,
      closes: false,
    })),
    {
      title: 'a token that was revoked',
      send: request('GET', ONE, bearer(revoked)),
      code: 'token_revoked',
      error: 'Token has been revoked',
      headers: challenge('invalid_token', 'Token has been revoked'),
      closes: false,
    },
    {
      title: 'a token that has expired',
      send: request('GET', ONE, bearer(expired)),
      code: 'token_expired',
      error: 'Token has expired',
      headers: challenge('invalid_token', 'Token has expired'),
      closes: false,
    },
    ...[
      ['two equal headers', request('GET', ONE, bearer(ann), bearer(ann))],
      ['two headers, the second of another scheme', request('GET', ONE, bearer(ann), `Authorization: Basic ${MARK}`)],
      ['two headers, the first of them empty', request('GET', ONE, 'Authorization:', bearer(ann))],
    ].map(([title = '', send = '']) => ({
      title,
      send,
      code: 'invalid_request' as const,
      error: 'Send one Authorization header',
      headers: challenge('invalid_request', 'Send one Authorization header'),
      closes: false,
    })),
    ...[
      ['access_token in the query', `${ONE}?access_token=${MARK}`],
      ['api_key in the query', `${LIST}?limit=5&api_key=`],
      ['token in the query', `${ONE}?token=${ann}`],
      ['a name that is token when decoded', `${ONE}?%74oken=${MARK}`],
      ['a token as the value of anything', `${ONE}?include=${ann}`],
      ['a token within a value, percent-encoded', `${ONE}?x=my-%6C${unknown.slice(1)}`],
      ['a token as a name', `${ONE}?${revoked}`],
      ['a token in the path', `${LIST}/${ann}`],
      ['a token in the path, percent-encoded', `${LIST}/%6C${ann.slice(1)}`],
    ].flatMap(([title = '', target = '']) =>
      [[], [bearer(ann)]].map(headers => ({
        title: `${title}, ${headers.length === 0 ? 'without' : 'with'} a header`,
        send: request('GET', target, ...headers),
        code: 'invalid_request' as const,
        error: 'Send the API key in the Authorization header, never in the URL',
        headers: challenge('invalid_request', 'Send the API key in the Authorization header, never in the URL'),
        closes: false,
      })),
    ),
  ]
}

function ofRights({ ann, lkbxOnly, free }: Tokens): Refused[] {
  return [
    {
      title: 'an account without a subscription',
      send: request('GET', ONE, bearer(free)),
      code: 'subscription_required',
      closes: false,
    },
    {
      title: 'a token without the scope of the path',
      send: request('GET', ONE, bearer(lkbxOnly)),
      code: 'insufficient_scope',
      headers: { 'WWW-Authenticate': 'Bearer realm="api", error="insufficient_scope", scope="dtt:read"' },
      closes: false,
    },
    ...['3', '99', '2147483648', '9007199254740993', '9223372036854775808', '1'.repeat(100)].map(id => ({
      title: `the records of somebody else: ${id}`,
      send: request('GET', `${LIST}?ownerId=${id}`, bearer(ann)),
      code: 'owner_not_accessible' as const,
      closes: false,
    })),
    ...Object.entries({
      '/api/v1/lkbx/templates': 'Lock template not found',
      '/api/v1/lkbx/sessions': 'Lock session not found',
      '/api/v1/dtt/templates': 'Training template not found',
      '/api/v1/dtt/sessions': 'Training session not found',
      '/api/v1/lkbx': 'Lock device not found',
      '/api/v1/dtt': 'Training device not found',
      '/api/v1/users': 'User not found',
    }).flatMap(([path, error], index) =>
      // Identifiers are parsed in one place.
      (index === 0 ? IMPOSSIBLE : IMPOSSIBLE.slice(0, 1)).map(id => ({
        title: `nothing to see at ${path}/${id}`,
        send: request('GET', `${path}/${id}`, bearer(ann)),
        code: 'not_found' as const,
        error,
        closes: false,
      })),
    ),
  ]
}

const IMPOSSIBLE = [
  '6', '2147483647', '2147483648', '4294967296', '9007199254740992', '9223372036854775808', '7'.repeat(100),
] // prettier-ignore

function ofParameters({ ann }: Tokens): Refused[] {
  const refused = (code: ErrorCode, target: string, ...fieldErrors: FieldError[]): Refused => {
    const [first] = fieldErrors
    return {
      title: `${code}: ${target}`,
      send: request('GET', target, bearer(ann)),
      code,
      error: `${first?.field} ${first?.message}`,
      fieldErrors,
      closes: false,
    }
  }
  const templates = '/api/v1/lkbx/templates'
  const unknown = { field: 'query', message: 'may only have limit, offset, cursor, ownerId, targetUserId' }
  const repeated = { field: 'limit', message: 'must not be given more than once' }
  const names = [
    MARK, 'Limit', 'LIMIT', 'limits', 'limit[]', 'limit[gte]', 'limit%5B%5D', 'limit%20', '%20limit', 'limit.',
    '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__', 'Token', 'page', 'from', 'passed',
  ] // prettier-ignore
  return [
    ...names.map(name => refused('unknown_parameter', `${templates}?${name}=1`, unknown)),
    refused('unknown_parameter', `${templates}?=1`, unknown),
    refused('unknown_parameter', `${templates}?limit;offset=1`, unknown),
    refused('unknown_parameter', `${templates}?${MARK}`, unknown),
    refused('unknown_parameter', `${templates}??limit=1`, unknown),
    refused('unknown_parameter', `/api/v1/me?limit=1`, {
      field: 'query',
      message: 'must be empty: there are no parameters here',
    }),
    refused('repeated_parameter', `${templates}?limit=1&limit=1`, repeated),
    refused('repeated_parameter', `${templates}?limit=1&%6Cimit=2&limit=3`, repeated),
    refused('repeated_parameter', `${templates}?limit=1&&limit`, repeated),
    {
      ...refused('unknown_parameter', `${templates}?offset=x&limit=1&limit=1&${MARK}=1&ownerId=0`),
      error: `query ${unknown.message}`,
      fieldErrors: [
        { field: 'offset', message: 'must be an integer from 0 to 9007199254740991' },
        repeated,
        unknown,
        { field: 'ownerId', message: 'must be an integer of 1 or more, or me' },
      ],
    },
    {
      ...refused('repeated_parameter', `${templates}?ownerId=0&limit=1&limit=1`),
      error: 'limit must not be given more than once',
      fieldErrors: [{ field: 'ownerId', message: 'must be an integer of 1 or more, or me' }, repeated],
    },
    refused(
      'invalid_parameter',
      `${LIST}/LATEST?include=no`,
      { field: 'id', message: 'must be an integer of 1 or more' },
      { field: 'include', message: 'must be owner' },
    ),
    ...['x', '__proto__', '5%2F6', '%00', '0', 'LATEST', 'latest%20'].map(id =>
      refused('invalid_parameter', `${LIST}/${id}`, { field: 'id', message: 'must be an integer of 1 or more' }),
    ),
    ...['2026-02-17&to=2026-02-16', '2026-02-16T12:00:00Z&to=2026-02-16T12:59:59%2B01:00'].map(range =>
      refused('invalid_parameter', `${LIST}?from=${range}`, { field: 'from', message: 'must not be after to' }),
    ),
    refused('invalid_parameter', `${templates}?cursor=&offset=0`, {
      field: 'cursor',
      message: 'must not be combined with offset',
    }),
  ]
}

function ofPaths({ ann }: Tokens): Refused[] {
  const paths = [
    '/api', '/api/', '/api/v1', '/api/v1/', '/api/v2/me', `/${MARK}`, `/api/v1/${MARK}`,
    '/api/v1/me/', '/api/v1//me', '//api/v1/me', '/api//v1/me', '/api/v1/me//', `${ONE}/`, `${LIST}/`, `${LIST}//5`,
    '/api/v1/ME', '/API/v1/me', '/api/V1/me', '/api/v1/Dtt/sessions',
    '/api/v1/./me', '/api/v1/../v1/me', '/./api/v1/me', '/api/v1/me/.', '/api/v1/me/..', '/api/v1/dtt/..', `${LIST}/.`, `${LIST}/..`,
    '/api/v1/%2E/me', '/api/v1/%2e%2e/v1/me', `${LIST}/%2E%2E`, `${LIST}/%2e`,
    '/api/v1%2Fme', '/api%2Fv1%2Fme', '/api/v1/dtt%2Fsessions/5', '/api/v1/dtt%2Fsessions', '/%2Fapi/v1/me',
    '/api/v1/%6De%20', '/api/v1/m%2565', '/api/v1/me;v=1', '/api/v1/me,', '/api/v1/*', '/api/v1/:id',
    '/api/v1/__proto__', '/api/v1/constructor', '/api/v1/toString', '/__proto__', '/constructor/prototype',
    '/api/v1/lkbx/session/5', '/api/v1/dtt/session/current', `${ONE}/segments`, '/api/v1/dtt/sessions/5/6',
    '/healthz/', '/Healthz', '//healthz', '/health', '/docs/', '/openapi.yaml', '/.env', '/.git/config', '/favicon.ico', '/robots.txt',
    '/api/v1/me%01', '/api/v1/me%0A', '/api/v1/me%C3%A9', '/apix', '/api%20/v1/me',
  ] // prettier-ignore
  return paths.flatMap(path =>
    ['GET', 'OPTIONS', 'DELETE'].map(method => ({
      title: `no such path: ${method} ${path}`,
      send: request(method, path, bearer(ann)),
      code: 'no_route' as const,
      closes: false,
    })),
  )
}

function ofTargets({ ann }: Tokens): Refused[] {
  const encodings = [
    '%', '%2', '%a', '%zz', '%G0', '%0g', '%u0041', '%%', '5%', '%C3', '%C3%28', '%FF', '%FE', '%80', '%C0%AF', '%C1%81', '%E0%80%AF',
    '%ED%A0%80', '%ED%BF%BF', '%ED%A0%BD%ED%B8%80', '%F4%90%80%80', '%F8%88%80%80%80', '%E2%82',
  ] // prettier-ignore
  const raw = ['\x01', '\x1f', '\x7f', '\t', ' x', '\0']
  const refused = (title: string, target: string): Refused => ({
    title,
    send: request('GET', target, bearer(ann)),
    code: 'malformed_url',
    or: 'malformed_request',
  })
  return [
    ...encodings.flatMap(text => [
      { ...refused(`${text} in the path`, `${LIST}/${text}`), closes: false },
      { ...refused(`${text} in a value`, `${LIST}?limit=${text}`), closes: false },
      { ...refused(`${text} in a name`, `${LIST}?${text}=1`), closes: false },
      { ...refused(`${text} at an unknown path`, `/${text}`), closes: false },
    ]),
    ...raw.flatMap(text => [
      refused(`${JSON.stringify(text)} in the path`, `${LIST}/5${text}`),
      refused(`${JSON.stringify(text)} in the query`, `${LIST}?limit=5${text}`),
      refused(`${JSON.stringify(text)} in the middle`, `/api/v1/dtt/ses${text}sions/5?limit=5`),
    ]),
  ]
}

function ofMethods({ ann }: Tokens): Refused[] {
  const refused = (title: string, send: string, closes = false): Refused => ({
    title,
    send,
    code: 'method_not_allowed',
    headers: { Allow: 'GET, HEAD' },
    closes,
  })
  const methods = [
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'TRACE',
    'PROPFIND',
    'SEARCH',
    'QUERY',
    'M-SEARCH',
    'LINK',
    'PURGE',
  ]
  return [
    ...methods.flatMap(method =>
      [ONE, LIST, '/api/v1/me', '/healthz', '/openapi.json'].map(path =>
        refused(`${method} ${path}`, request(method, path, bearer(ann), 'X-HTTP-Method-Override: GET')),
      ),
    ),
    ...['POST', 'PUT', 'DELETE'].flatMap(method =>
      [ONE, '/readyz'].flatMap(path => [
        refused(
          `${method} ${path} with a body`,
          `${request(method, path, bearer(ann), 'Content-Type: application/json', 'Content-Length: 16')}{"id":"${MARK}"}`,
          true,
        ),
        refused(
          `${method} ${path} with a body in chunks`,
          `${request(method, path, bearer(ann), 'Transfer-Encoding: chunked')}7\r\n${MARK}\r\n0\r\n\r\n`,
          true,
        ),
        refused(`${method} ${path} with an empty body`, request(method, path, bearer(ann), 'Content-Length: 0')),
        refused(
          `${method} ${path} with a body that does not come`,
          request(method, path, bearer(ann), 'Content-Length: 10'),
          true,
        ),
      ]),
    ),
    refused('a form that asks to be another method', request('POST', `${ONE}?_method=GET`, bearer(ann))),
  ]
}

function ofHeaders({ ann }: Tokens): Refused[] {
  const refused = (code: ErrorCode, title: string, closes: boolean, target: string, ...headers: string[]): Refused => ({
    title,
    send: request('GET', target, ...headers, bearer(ann)),
    code,
    closes,
  })
  const many = (count: number) => Array.from({ length: count }, (_, index) => `X-${MARK}-${index}: 1`)
  return [
    refused('headers_too_large', 'a long path', true, `/${MARK}${'a'.repeat(17_000)}`),
    refused('headers_too_large', 'a long query', true, `${LIST}?x=${'a'.repeat(40_000)}`),
    ...[17_000, 24_000, 40_000, 60_000].map(size =>
      refused('headers_too_large', `a header of ${size} bytes`, true, ONE, `X-Long: ${'a'.repeat(size)}`),
    ),
    refused('headers_too_large', 'a header with a long name', true, ONE, `X-${'a'.repeat(17_000)}: 1`),
    refused('headers_too_large', 'large headers together', true, ONE, ...many(90).map(line => line + 'a'.repeat(180))),
  ]
}

function ofParsing({ ann }: Tokens): Refused[] {
  const first = `GET ${ONE} HTTP/1.1`
  const post = 'POST /api/v1/me HTTP/1.1'
  const cases: Readonly<Record<string, string>> = {
    'a method that does not exist': lines(`FOO ${ONE} HTTP/1.1`, 'Host: a'),
    'a method in small letters': lines(`get ${ONE} HTTP/1.1`, 'Host: a'),
    'a method of odd characters': lines(`G\x01T ${ONE} HTTP/1.1`, 'Host: a'),
    'a method of RTSP': lines(`DESCRIBE ${ONE} HTTP/1.1`, 'Host: a'),
    'the preface of HTTP/2': lines('PRI * HTTP/2.0', '', 'SM'),
    'a version in small letters': lines(`GET ${ONE} http/1.1`, 'Host: a', bearer(ann)),
    'another protocol': lines(`GET ${ONE} SIP/2.0`, 'Host: a', bearer(ann)),
    'a folded header': lines(first, 'Host: a', `X-Folded: 1`, ` ${MARK}`, bearer(ann)),
    'a folded first header': lines(first, ' Host: a', bearer(ann)),
    'a space before the colon': lines(first, 'Host : a', bearer(ann)),
    'a header without a colon': lines(first, 'Host: a', MARK, bearer(ann)),
    'a header without a name': lines(first, 'Host: a', `: ${MARK}`, bearer(ann)),
    'a name with a space': lines(first, 'Host: a', `X ${MARK}: 1`, bearer(ann)),
    'a name that is not ASCII': lines(first, 'Host: a', `X-\xe9: 1`, bearer(ann)),
    'a value with NUL': lines(first, 'Host: a', `X-Odd: ${MARK}\0`, bearer(ann)),
    'a value with a bare CR': lines(first, 'Host: a', `X-Odd: a\rX-Other: ${MARK}`, bearer(ann)),
    'lines that end with LF alone': `${first}\nHost: a\n${bearer(ann)}\n\n`,
    'text that is no request': `${MARK}\r\n\r\n`,
    'a greeting of TLS': '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
    'bytes of zero': '\0'.repeat(64),
    'a length and chunks': `${lines(post, 'Host: a', 'Content-Length: 3', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    'chunks and a length': `${lines(post, 'Host: a', 'Transfer-Encoding: chunked', 'Content-Length: 3')}0\r\n\r\n`,
    'two lengths': `${lines(post, 'Host: a', 'Content-Length: 3', 'Content-Length: 4')}abc`,
    'the same length twice': `${lines(post, 'Host: a', 'Content-Length: 3', 'Content-Length: 3')}abc`,
    'a list of lengths': `${lines(post, 'Host: a', 'Content-Length: 3, 3')}abc`,
    'a length with a sign': `${lines(post, 'Host: a', 'Content-Length: +3')}abc`,
    'a negative length': lines(post, 'Host: a', 'Content-Length: -1'),
    'a length in hex': lines(post, 'Host: a', 'Content-Length: 0x3'),
    'a length that is too long': lines(post, 'Host: a', 'Content-Length: 99999999999999999999999'),
    'an empty length': lines(post, 'Host: a', 'Content-Length:'),
    'an encoding with a space before the colon': lines(post, 'Host: a', 'Transfer-Encoding : chunked'),
  }
  return Object.entries(cases).map(([title, send]) => ({ title, send, code: 'malformed_request', closes: true }))
}
