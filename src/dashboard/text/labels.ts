import type { Area } from '../../contract/areas.ts'
import type { ReadType, ReadWay } from '../../contract/reads.ts'

export { label } from '../../contract/labels.ts'

/** Types of segments that are known today; the set is open. */
export const typeLabels: Readonly<Record<string, string>> = {
  warmup: 'Warm-up',
  training: 'Training',
  repetition: 'Repetitions',
  endurance: 'Endurance',
  freeform: 'Freeform',
  bounce: 'Bounce',
}

const recordKindLabels: Readonly<Record<string, string>> = {
  'lock-template': 'Lock templates',
  'lock-device': 'Lock devices',
  'training-device': 'Training devices',
  'training-template': 'Programs',
  'lock-session': 'Lock sessions',
  'training-session': 'Training sessions',
}

export function kindName(kind: string): string {
  return recordKindLabels[kind] ?? kind
}

/** States of a lock session that are known today; the set is open. */
export const stateLabels: Readonly<Record<string, string>> = {
  pending: 'Pending',
  locked: 'Locked',
  break: 'On a break',
  completed: 'Completed',
  abandoned: 'Ended early',
}

/** Types of events in a lock session that are known today; the set is open. */
export const lockEventLabels: Readonly<Record<string, string>> = {
  start: 'Started',
  locked: 'Locked again',
  break: 'Break began',
  unlocked: 'Unlocked',
}

export const scopeTexts: Readonly<Record<string, string>> = {
  'lkbx:read': 'Lock templates, lock sessions and lock devices.',
  'dtt:read': 'Programs, training sessions and training devices.',
  'shared:access': 'Also the records of others that you may read.',
  'status:read': 'The current status and statistics, but no records. Locks and Training together include it.',
}

export const areaLabels: Readonly<Record<Area, string>> = { lkbx: 'Locks', dtt: 'Training' }

/** `Locks and training` */
export function areasText(areas: readonly Area[]): string {
  return areas.map((area, index) => (index === 0 ? areaLabels[area] : areaLabels[area].toLowerCase())).join(' and ')
}

export const readWayLabels: Readonly<Record<ReadWay, string>> = {
  token: 'API key',
  dashboard: 'Pages',
  operator: 'Command line',
}

export const readTypeLabels: Readonly<Record<ReadType, string>> = {
  list: 'list',
  record: 'single record',
  statistics: 'statistics',
  export: 'download',
}

export const scopeLabels: Readonly<Record<string, string>> = {
  'lkbx:read': 'Locks',
  'dtt:read': 'Training',
  'shared:access': 'Shared records',
  'status:read': 'Status and statistics',
}
