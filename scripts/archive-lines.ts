import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ArchiveLine {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The complete line of each kind that `docs/archive.md` shows, without the line that ends an archive. */
export function archiveLines(): ArchiveLine[] {
  const page = readFileSync(join(import.meta.dirname, '../docs/archive.md'), 'utf8')
  const samples = (/```json\n([^]*?)```/.exec(page)?.[1] ?? '').trim().split('\n').slice(0, -1)
  return samples.map(sample => JSON.parse(sample) as ArchiveLine)
}
