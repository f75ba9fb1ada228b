import { isIPv6 } from 'node:net'
import { ApiError } from '../contract/errors.ts'

/** The path of a request, split and decoded, and its query as it was sent. */
export interface Target {
  /** The path as sent; without percent-encoding it is also the decoded one. */
  readonly path: string
  /** The decoded segments, only where the path has percent-encoding. */
  readonly segments: readonly string[] | undefined
  readonly query: string
  /** The host that is asked: of the Host header, or of an absolute form where HTTP/1.0 sends none. */
  readonly host: string | undefined
}

/**
 * Reads a request target in origin or absolute form. Throws malformed_url for bytes a target cannot have and for
 * percent-encoding that is cut, not UTF-8 or NUL; host_invalid for an absolute form at odds with the Host header.
 */
export function parseTarget(target: string, sentHost: string | undefined): Target {
  if (UNWELCOME.test(target)) throw new ApiError('malformed_url')
  const { rest, host } = target.startsWith('/') ? { rest: target, host: sentHost } : fromAbsolute(target, sentHost)
  const mark = rest.indexOf('?')
  const path = mark === -1 ? rest : rest.slice(0, mark)
  const query = mark === -1 ? '' : rest.slice(mark + 1)
  if (!rest.includes('%')) return { path, segments: undefined, query, host }
  decode(query)
  return { path, segments: path.includes('%') ? path.split('/').map(decode) : undefined, query, host }
}

/** Percent-decodes once. Throws malformed_url. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw new ApiError('malformed_url')
  }
  if (decoded.includes('\0')) throw new ApiError('malformed_url')
  return decoded
}

/** Whether the text is a host with an optional port, as a Host header must have it. */
export function isHost(text: string): boolean {
  // Nearly all ask for the same one.
  if (text === lastHost) return true
  const [whole, address, port = ''] = HOST.exec(text) ?? []
  if (whole === undefined || (address !== undefined && !isIPv6(address)) || Number(port) > 65_535) return false
  lastHost = text
  return true
}

let lastHost: string | undefined

// Everything but printable ASCII, and of that what no target may have unencoded.
const UNWELCOME = /[^\x21-\x7e]|[#\\<>"]/
const ABSOLUTE_FORM = /^https?:\/\/([^/?]+)/i
const HOST = /^(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+|\[([0-9A-Fa-f:.]+)\])(?::(\d{0,5}))?$/

function fromAbsolute(target: string, sentHost: string | undefined) {
  const [whole, authority = ''] = ABSOLUTE_FORM.exec(target) ?? []
  if (whole === undefined) throw new ApiError('malformed_url')
  if (!isHost(authority) || (sentHost !== undefined && authority.toLowerCase() !== sentHost.toLowerCase())) {
    throw new ApiError('host_invalid')
  }
  const rest = target.slice(whole.length)
  return { rest: rest.startsWith('/') ? rest : `/${rest}`, host: sentHost ?? authority }
}
