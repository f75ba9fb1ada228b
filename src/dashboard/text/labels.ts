import type { Area } from '../../contract/areas.ts'
import type { ReadKind, ReadWay } from '../../contract/reads.ts'

/**
 * A plain word for every field of the contract. Pages use only these; field names appear only in JSON views and in the
 * API reference.
 */
export const labels: Readonly<Record<string, string>> = {
  // Any record
  id: 'Number',
  ownerId: 'Account',
  name: 'Name',
  bubbleId: 'Second id',
  bubble_id: 'Second id',
  publicId: 'Public id',
  createdAt: 'Created',
  created_at: 'Recorded',
  createdDate: 'Created',
  updatedAt: 'Changed',
  type: 'Kind of segment',
  order: 'Position',

  // Lock sessions
  lockState: 'State',
  startDate: 'Started',
  endDate: 'Ended',
  isActive: 'In use',
  isLocked: 'Locked',
  LockSegment: 'Events',

  // Lock templates
  duration: 'Length',
  isRandomDuration: 'Random length',
  minDuration: 'Shortest length',
  maxDuration: 'Longest length',
  isBreakEnabled: 'Breaks',
  breakRegularity: 'Break regularity',
  breakMaximum: 'Break maximum',
  breakPenalty: 'Break penalty',
  breakKeyholderOnly: 'Breaks for the keyholder only',
  isDeepthroatEnabled: 'Task credit',
  deepthroatTimeReduction: 'Time reduction of task credit',
  isShameEnabled: 'Penalty votes',
  shameTimeAdd: 'Time addition of penalty votes',
  isEmergencyUnlockEnabled: 'Emergency unlock',
  isPublic: 'Public',
  isPubliclyListed: 'Publicly listed',
  isTestLock: 'Not counted',
  isTimeDisplayed: 'Time displayed',

  // Training programs
  description: 'Description',
  tagline: 'Tagline',
  message: 'Message',
  handsFreeMode: 'Hands-free',
  targetDepth: 'Target position',
  targetWindow: 'Tolerance',
  toyId: 'Device',
  toyTagline: 'Device tagline',
  iconId: 'Icon',
  Segment: 'Segments',
  repeat: 'Repeats',
  speed: 'Pace',
  passFailEnabled: 'Pass or fail',
  passGradeThreshold: 'Passing grade',
  failureText: 'Text when not passed',

  // Training sessions
  passed: 'Result',
  trainer_id: 'Device',
  settings_id: 'Program',
  TrainerSegment: 'Segments',
  percentGrade: 'Grade',
  points: 'Points',
  durationMeasured: 'Time',
  durationTarget: 'Target time',
  repsMeasured: 'Repetitions',
  repsTarget: 'Target repetitions',
  distanceTravelled: 'Distance',
  distanceApproximate: 'Approximate distance',
  longestDeepthroat: 'Time in the target zone',
  strokeLength: 'Movement length',
  speedMeasured: 'Measured pace',

  // Devices
  macAddress: 'Hardware address',
  locked: 'Locked',
  hueShift: 'Colour shift',
  lastVisited: 'Last seen',
  lastLogAt: 'Last log',
  serialNumber: 'Serial number',
  softwareVersion: 'Software version',
  apiHits: 'Calls',

  // People and keys
  username: 'Username',
  accountType: 'Account type',
  subscriptionTier: 'Tier',
  subscriptionEndsAt: 'Tier ends',
  league: 'League',
  rank: 'Rank',
  totalPoints: 'Points in total',
  matchPoints: 'Points from matches',
  profileImage: 'Picture',
  profileDescription: 'Profile text',
  profileTitle: 'Profile title',
  last4: 'Last four characters',
  scopes: 'May read',
  expiresAt: 'Expires',
  lastUsedAt: 'Last used',
}

/** The plain word for a field of the contract. */
export function label(field: string): string {
  return labels[field] ?? field
}

/** Kinds of segments that are known today; the set is open. */
export const kindLabels: Readonly<Record<string, string>> = {
  warmup: 'Warm-up',
  training: 'Training',
  repetition: 'Repetitions',
  endurance: 'Endurance',
  freeform: 'Freeform',
  bounce: 'Bounce',
}

/** Kinds of records, as a file has them. */
export const recordKindLabels: Readonly<Record<string, string>> = {
  'lock-template': 'Lock templates',
  'lock-device': 'Lock devices',
  'training-device': 'Training devices',
  'training-template': 'Programs',
  'lock-session': 'Lock sessions',
  'training-session': 'Training sessions',
}

/** States of a lock session that are known today; the set is open. */
export const stateLabels: Readonly<Record<string, string>> = {
  pending: 'Pending',
  locked: 'Locked',
  break: 'On a break',
  completed: 'Completed',
  abandoned: 'Ended early',
}

/** Kinds of events in a lock session that are known today; the set is open. */
export const eventLabels: Readonly<Record<string, string>> = {
  start: 'Started',
  locked: 'Locked again',
  break: 'Break began',
  unlocked: 'Unlocked',
}

/** What each scope lets a key do. */
export const scopeTexts: Readonly<Record<string, string>> = {
  'lkbx:read': 'Lock templates, lock sessions and lock devices.',
  'dtt:read': 'Programs, training sessions and training devices.',
  'shared:access': 'Also the records of others that you may read.',
  'status:read': 'The current status and statistics, but no records. Locks and Training together include it.',
}

export const areaLabels: Readonly<Record<Area, string>> = { lkbx: 'Locks', dtt: 'Training' }

export const readWayLabels: Readonly<Record<ReadWay, string>> = {
  token: 'API key',
  dashboard: 'Pages',
  operator: 'Command line',
}

export const readKindLabels: Readonly<Record<ReadKind, string>> = {
  list: 'list',
  record: 'single record',
  statistics: 'statistics',
  export: 'download',
}

export const scopeLabels: Readonly<Record<string, string>> = {
  'lkbx:read': 'Locks',
  'dtt:read': 'Training',
  'shared:access': 'Shared records',
  'status:read': 'Status and statistics only',
}
