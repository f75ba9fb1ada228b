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

export interface CookieOptions {
  /** Seconds; 0 deletes it. */
  readonly maxAge: number
  readonly secure: boolean
}

/** A `Set-Cookie` value for a cookie that scripts cannot read and other sites cannot send with a form. */
export function cookie(name: string, value: string, { maxAge, secure }: CookieOptions): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
