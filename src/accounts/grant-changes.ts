let changes = 0

/** How often this process has changed what keys grant; when it grows, cached grants may be out of date. */
export function grantChangeCount(): number {
  return changes
}

/** Called after a change to keys or access was stored. */
export function noteGrantChange() {
  changes += 1
}
