import { cookieSuffix } from './prefix.ts'

/** The cookies of a request by name. If one is sent twice, the first counts, as it has the more specific path. */
export function parseCookies(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const mark = pair.indexOf('=')
    const name = pair.slice(0, Math.max(0, mark)).trim()
    if (name !== '' && !cookies.has(name)) cookies.set(name, pair.slice(mark + 1).trim())
  }
  return cookies
}

/** Over TLS all names have a prefix, with which browsers take a cookie from this host alone, for all paths, and never without TLS. */
const PREFIX = '__Host-'

function cookieName(name: string, { secure }: Pick<CookieOptions, 'secure'>): string {
  return `${secure ? PREFIX : ''}${name}${cookieSuffix()}`
}

/** The value of a cookie that `cookie` made for the same site. */
export function cookieValue(
  cookies: ReadonlyMap<string, string>,
  name: string,
  site: Pick<CookieOptions, 'secure'>,
): string | undefined {
  return cookies.get(cookieName(name, site))
}

/** The value of a cookie of either form. For what others may as well set: how pages look. */
export function displayValue(cookies: ReadonlyMap<string, string>, name: string): string | undefined {
  return cookieValue(cookies, name, { secure: true }) ?? cookieValue(cookies, name, { secure: false })
}

export interface CookieOptions {
  /** Seconds; 0 deletes it. */
  readonly maxAge: number
  readonly secure: boolean
}

/** A `Set-Cookie` value for a cookie that scripts cannot read and other sites cannot send with a form. */
export function cookie(name: string, value: string, { maxAge, secure }: CookieOptions): string {
  return `${cookieName(name, { secure })}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
