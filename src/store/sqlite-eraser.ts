import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

/**
 * Runs as a thread: writes the database again without what was deleted, and empties its log. Overwriting rows as they are
 * deleted (`secure_delete`) is not enough, because pages keep pieces of rows that have moved to other pages.
 */

const WAIT_MS = 60_000

// Whoever starts the thread passes the path.
using database = new DatabaseSync(workerData as string, { timeout: WAIT_MS })
database.exec('vacuum')
const result = database.prepare('pragma wal_checkpoint(truncate)').get()
if (result?.['busy'] !== 0) throw new Error('somebody is reading it')
