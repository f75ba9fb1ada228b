const listeners = new Set<() => void>()

/** Calls the listener after this process has changed a connection, so that a round that is due need not wait. */
export function onConnectionChange(listener: () => void) {
  listeners.add(listener)
}

/** Called after a change to a connection was stored. */
export function noteConnectionChange() {
  for (const listener of listeners) listener()
}
