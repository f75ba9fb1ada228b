import { sharesHost } from './prefix.ts'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The headers that every page has besides those of all responses. */
export const PAGE_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy': POLICY,
}

/**
 * Lets the browser remove what it stored of this site, unless other programs are on the same host: they would lose theirs. Not
 * "cookies": theme and discreet mode belong to the browser, whoever uses it next.
 */
export function clearSiteData(): Record<string, string> {
  return sharesHost() ? {} : { 'Clear-Site-Data': '"cache", "storage"' }
}
