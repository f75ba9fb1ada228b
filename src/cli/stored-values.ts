import { countRejected } from '../archive/rejected-rows.ts'
import { readBackupFacts } from '../backup/facts.ts'
import type { StoredValue } from '../http/metrics.ts'
import { countConnections, oldestCompleteRound } from '../pull/state.ts'
import type { Store } from '../store/index.ts'

/** The metrics of imports, pulls and backups. */
export function storedValues(store: Store): readonly StoredValue[] {
  return [
    {
      name: 'lockstep_set_aside_rows',
      help: 'Rows that imports and pulls could not store, kept for another try.',
      read: () => countRejected(store),
    },
    {
      name: 'lockstep_pull_completed_timestamp_seconds',
      help: 'End of the last complete round of a pull; of several sources the one that is furthest behind.',
      read: async () => seconds(await oldestCompleteRound(store)),
    },
    {
      name: 'lockstep_source_connections',
      help: 'Sources that people have connected.',
      read: async () => (await countConnections(store)).all,
    },
    {
      name: 'lockstep_source_connections_failing',
      help: 'Connected sources whose last round failed.',
      read: async () => (await countConnections(store)).failing,
    },
    {
      name: 'lockstep_source_failing_timestamp_seconds',
      help: 'Since when a connected source fails; of several the one that has failed for longest.',
      read: async () => seconds((await countConnections(store)).since),
    },
    {
      name: 'lockstep_backup_timestamp_seconds',
      help: 'Moment of the last backup of this database.',
      read: async () => seconds((await readBackupFacts(store)).madeAt),
    },
    {
      name: 'lockstep_backup_size_bytes',
      help: 'Size of the last backup of this database.',
      read: async () => (await readBackupFacts(store)).bytes,
    },
    {
      name: 'lockstep_backup_check_timestamp_seconds',
      help: 'When a backup last passed its check.',
      read: async () => seconds((await readBackupFacts(store)).checkedAt),
    },
  ]
}

function seconds(milliseconds: number | null | undefined): number | undefined {
  return milliseconds == null ? undefined : milliseconds / 1000
}
