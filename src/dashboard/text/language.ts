import { AsyncLocalStorage } from 'node:async_hooks'

/** The language in which a page writes times, dates and numbers. Its texts are English. */

/** Those in which the year stands last in a date, on which texts rely. */
export const languages = 'en-GB en-US cs da de es fi fr it nb nl pl pt sv'.split(' ')

const current = new AsyncLocalStorage<string>()

export function inLanguage<Result>(language: string, work: () => Result): Result {
  return current.run(language, work)
}

/** The one that was chosen in this browser, else the first of the browser's that is known. */
export function languageOf(chosen: string | undefined, accepted = ''): string {
  if (chosen !== undefined && languages.includes(chosen)) return chosen
  for (const part of accepted.split(',', MAX_ACCEPTED)) {
    const [tag = ''] = part.trim().split(';')
    const [main] = tag.split('-')
    const found = languages.includes(tag) ? tag : languages.find(known => known.split('-')[0] === main)
    if (found !== undefined) return found
  }
  return DEFAULT
}

const DEFAULT = 'en-GB'
const MAX_ACCEPTED = 10

interface DateFormat {
  readonly format: (at: number | Date) => string
  readonly formatRange: (from: number, to: number) => string
}

/** Dates are Gregorian, and digits Latin, in every language. */
export function dateFormat(options: Intl.DateTimeFormatOptions): DateFormat {
  const now = perLanguage(locale => new Intl.DateTimeFormat(locale, options))
  return { format: at => now().format(at), formatRange: (from, to) => now().formatRange(from, to) }
}

export function numberFormat(options: Intl.NumberFormatOptions): { readonly format: (value: number) => string } {
  const now = perLanguage(locale => new Intl.NumberFormat(locale, options))
  return { format: value => now().format(value) }
}

/** Made once for each language, because formats are slow to create. */
function perLanguage<Format>(make: (locale: string) => Format): () => Format {
  const made = new Map<string, Format>()
  return () => {
    const language = current.getStore() ?? DEFAULT
    const known = made.get(language) ?? make(`${language}-u-ca-gregory-nu-latn`)
    made.set(language, known)
    return known
  }
}
