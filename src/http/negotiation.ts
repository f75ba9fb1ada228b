/** Whether an Accept header lets the answer be application/json. An absent, empty or unparsable one does. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true
  let best = { specificity: -1, weight: 0 }
  let parsed = 0
  for (const part of partsOf(accept)) {
    if (part.trim() === '') continue
    const range = MEDIA_RANGE.exec(part)
    if (range === null) return true
    parsed += 1
    const [, type = '', subtype = '', parameters = ''] = range
    // A weight within quotes is none.
    const place = parameters.replaceAll(QUOTED, quoted => '"'.repeat(quoted.length)).search(WEIGHT)
    const own = place === -1 ? parameters : parameters.slice(0, place)
    const weight = place === -1 ? 1 : weightOf(parameters.slice(place))
    if (weight === undefined) return true
    const specificity = specificityOf(type.toLowerCase(), subtype.toLowerCase(), own)
    if (specificity > best.specificity) best = { specificity, weight }
    else if (specificity === best.specificity && specificity >= 0) {
      best = { specificity, weight: Math.max(best.weight, weight) }
    }
  }
  return parsed === 0 || best.weight > 0
}

/** Whether an If-None-Match header holds the validator, compared weakly. Unquoted text never matches. */
export function matchesEtag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true
  for (const [, opaque] of header.matchAll(ENTITY_TAG)) if (opaque === etag) return true
  return false
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
// A space belongs to what follows it, and to nothing else: were there a choice, a long header would try every one.
const PARAMETER = `[ \\t]*;(?:[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?`
const MEDIA_RANGE = new RegExp(`^[ \\t]*(${TOKEN})/(${TOKEN})((?:${PARAMETER})*)[ \\t]*$`)
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const PART = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g
const WEIGHT = /;[ \t]*q=([^;]*)/i
const ENTITY_TAG = /(?:^|,)[ \t]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")(?=[ \t]*(?:,|$))/g

/** What is between commas, other than those within quotes. */
function partsOf(list: string): readonly string[] {
  return list.includes('"') ? (list.match(PART) ?? []) : list.split(',')
}

/** `own` are the parameters of the type itself: those before the weight. */
function specificityOf(type: string, subtype: string, own: string): number {
  if (type === '*' && subtype === '*') return 0
  if (type !== 'application') return -1
  if (subtype === '*') return 1
  if (subtype !== 'json') return -1
  // Of them only the charset we send can be meant.
  if (own.trim() === '' || own.trim() === ';') return 2
  return /^[ \t]*;[ \t]*charset="?utf-8"?[ \t]*$/i.test(own) ? 3 : -1
}

/** Undefined when there is one that cannot be read. */
function weightOf(parameters: string): number | undefined {
  const weight = WEIGHT.exec(parameters)?.[1]?.trim()
  if (weight === undefined) return 1
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : undefined
}
