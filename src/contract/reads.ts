/** How somebody read: with an API key, on a page of the dashboard, or by a command on the server. */
export const readWays = ['token', 'dashboard', 'operator'] as const
export type ReadWay = (typeof readWays)[number]

/** What was read: rows of a list, one record, statistics, or records to keep. */
export const readTypes = ['list', 'record', 'statistics', 'export'] as const
export type ReadType = (typeof readTypes)[number]
