import { countRejected } from '../archive/rejected-rows.ts'
import { readBackupFacts } from '../backup/facts.ts'
import type { StoredMetric } from '../http/metrics.ts'
import { countFailingConnections } from '../pull/connections.ts'
import { oldestCompleteRound } from '../pull/state.ts'
import type { Store } from '../store/index.ts'

export function storedMetrics(store: Store): readonly StoredMetric[] {
  const values: readonly (readonly [name: string, help: string, read: StoredMetric['read']])[] = [
    [
      'set_aside_rows',
      'Rows that imports and pulls could not store, kept for another try.',
      () => countRejected(store),
    ],
    [
      'pull_completed_timestamp_seconds',
      'End of the last complete round of a pull; of several sources the one that is furthest behind.',
      async () => seconds(await oldestCompleteRound(store)),
    ],
    ['source_connections_failing', 'Connected sources whose last round failed.', () => countFailingConnections(store)],
    [
      'backup_timestamp_seconds',
      'Moment of the last backup of this database.',
      async () => seconds((await readBackupFacts(store)).madeAt),
    ],
    [
      'backup_size_bytes',
      'Size of the last backup of this database.',
      async () => (await readBackupFacts(store)).bytes,
    ],
    [
      'backup_check_timestamp_seconds',
      'When a backup last passed its check.',
      async () => seconds((await readBackupFacts(store)).checkedAt),
    ],
  ]
  return values.map(([name, help, read]) => ({ name: `lockstep_${name}`, help, read }))
}

function seconds(milliseconds: number | null | undefined): number | undefined {
  return milliseconds == null ? undefined : milliseconds / 1000
}
