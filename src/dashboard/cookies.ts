/** The cookies of a request by name. Of one that is sent twice the first counts: the one with the closer path. */
export function parseCookies(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const mark = pair.indexOf('=')
    const name = pair.slice(0, Math.max(0, mark)).trim()
    if (name !== '' && !cookies.has(name)) cookies.set(name, pair.slice(mark + 1).trim())
  }
  return cookies
}

interface CookieOptions {
  /** Seconds; 0 takes it away. */
  readonly maxAge: number
  readonly secure: boolean
}

/** A `Set-Cookie` value for a cookie that no script can read and no other site can send along with a form. */
export function cookie(name: string, value: string, { maxAge, secure }: CookieOptions): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
