/**
 * Whether a name is one of the IANA data, in its casing: `Europe/Berlin`, `Asia/Kathmandu`, `UTC`. An offset is no name:
 * it has no summer time.
 */
export function isTimeZone(name: string): boolean {
  return knownTimeZone(name) === name
}

/** A name in the casing of the IANA data, whatever its own; undefined if there is no such zone. */
export function knownTimeZone(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId
  } catch {
    return undefined
  }
}
