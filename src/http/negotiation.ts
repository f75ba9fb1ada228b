/** Whether an Accept header allows application/json. A header that is absent, empty or cannot be parsed does. */
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
    // Text within quotes is no weight.
    const weightAt = parameters.replaceAll(QUOTED, quoted => '"'.repeat(quoted.length)).search(WEIGHT)
    const own = weightAt === -1 ? parameters : parameters.slice(0, weightAt)
    const weight = weightAt === -1 ? 1 : weightOf(parameters.slice(weightAt))
    if (weight === undefined) return true
    const specificity = specificityOf(type.toLowerCase(), subtype.toLowerCase(), own)
    if (specificity > best.specificity) best = { specificity, weight }
    else if (specificity === best.specificity && specificity >= 0) {
      best = { specificity, weight: Math.max(best.weight, weight) }
    }
  }
  return parsed === 0 || best.weight > 0
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
// Each space can match in one place only. Otherwise a long header would make the expression backtrack without end.
const PARAMETER = `[ \\t]*;(?:[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?`
const MEDIA_RANGE = new RegExp(`^[ \\t]*(${TOKEN})/(${TOKEN})((?:${PARAMETER})*)[ \\t]*$`)
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const PART = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g
const WEIGHT = /;[ \t]*q=([^;]*)/i

/** Splits at commas, except those within quotes. */
function partsOf(list: string): readonly string[] {
  return list.includes('"') ? (list.match(PART) ?? []) : list.split(',')
}

/** `own` are the parameters of the type itself: those before the weight. */
function specificityOf(type: string, subtype: string, own: string): number {
  if (type === '*' && subtype === '*') return 0
  if (type !== 'application') return -1
  if (subtype === '*') return 1
  if (subtype !== 'json') return -1
  // The only parameter that application/json has here is its charset.
  if (own.trim() === '' || own.trim() === ';') return 2
  return /^[ \t]*;[ \t]*charset="?utf-8"?[ \t]*$/i.test(own) ? 3 : -1
}

/** 1 if there is none; undefined if it cannot be parsed. */
function weightOf(parameters: string): number | undefined {
  const weight = WEIGHT.exec(parameters)?.[1]?.trim()
  if (weight === undefined) return 1
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : undefined
}
