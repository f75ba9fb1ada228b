/** How somebody read: with an API key, on a page of the dashboard, or by a command on the server. */
export const readWays = ['token', 'dashboard', 'operator'] as const
export type ReadWay = (typeof readWays)[number]

/** What was read: rows of a list, one record, statistics, or records to keep. */
export const readKinds = ['list', 'record', 'statistics', 'export'] as const
export type ReadKind = (typeof readKinds)[number]
