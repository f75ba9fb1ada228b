/**
 * What pages and tables call the fields of records, where the words of their names would not do. The names themselves appear only in JSON
 * views and in the API reference.
 */
const labels: Readonly<Record<string, string>> = {
  // Any record
  id: 'Number',
  ownerId: 'Account',
  bubbleId: 'Second id',
  bubble_id: 'Second id',
  createdAt: 'Created',
  created_at: 'Recorded',
  createdDate: 'Created',
  updatedAt: 'Changed',
  type: 'Type of segment',
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
  hueShift: 'Colour shift',
  lastVisited: 'Last seen',
  lastLogAt: 'Last log',
  apiHits: 'Calls',

  // People and keys
  subscriptionTier: 'Tier',
  subscriptionEndsAt: 'Tier ends',
  totalPoints: 'Points in total',
  matchPoints: 'Points from matches',
  profileImage: 'Picture',
  profileDescription: 'Profile text',
  last4: 'Last four characters',
  scopes: 'May read',
  expiresAt: 'Expires',
  lastUsedAt: 'Last used',
}

/** The plain words for a field of the contract. */
export function label(field: string): string {
  const words = field.replaceAll(/(?<=[a-z])[A-Z]/g, letter => ` ${letter.toLowerCase()}`).replaceAll('_', ' ')
  return labels[field] ?? words.charAt(0).toUpperCase() + words.slice(1)
}
