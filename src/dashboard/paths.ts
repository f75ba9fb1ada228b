/** A path of this service to lead somebody back to; the overview for anything that could lead elsewhere. */
export function safePath(path: string | null | undefined): string {
  return path != null && /^\/(?![/\\])[A-Za-z0-9/?&=%+:,._~-]*$/.test(path) ? path : '/'
}
