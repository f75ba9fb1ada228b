import { sharesHost } from './prefix.ts'

/** The content security policy of a page. */
export function policy(charts: boolean): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    // Plot sets styles as attributes, which no hash can allow.
    `style-src 'self'${charts ? " 'unsafe-inline'" : ''}`,
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The headers that every page has besides those of all responses. */
export const PAGE_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy': policy(false),
}

/**
 * Lets the browser remove what it stored of this site, unless other programs are on the same host: they would lose theirs. Not
 * "cookies": theme and discreet mode belong to the browser, whoever uses it next.
 */
export function clearSiteData(): Record<string, string> {
  return sharesHost() ? {} : { 'Clear-Site-Data': '"cache", "storage"' }
}
