/** A path of this service to redirect to; the overview for anything that could lead to another site. */
export function safePath(path: string | null | undefined): string {
  return path != null && /^\/(?![/\\])[A-Za-z0-9/?&=%+:,._~-]*$/.test(path) ? path : '/'
}
