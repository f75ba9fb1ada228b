/**
 * Whether a name is one of the IANA data, in its casing: `Europe/Berlin`, `Asia/Kathmandu`, `UTC`. Offsets are no names:
 * they know no summer time.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId === name
  } catch {
    return false
  }
}
