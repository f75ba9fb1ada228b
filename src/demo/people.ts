import type { LockDevice, TrainingDevice } from '../contract/devices.ts'
import type { User } from '../contract/people.ts'
import { DAY_MS, formatTimestamp } from '../contract/time.ts'

/** The accounts of the sample: alex and robin are linked, sam is linked to nobody. */
export const ALEX = 1
export const ROBIN = 2
export const SAM = 3

/** A mutual partnership is two directions. */
export const partnerships = [
  { ownerId: ALEX, partnerId: ROBIN },
  { ownerId: ROBIN, partnerId: ALEX },
]

/** `pointsOf` says the points of an account from its training sessions. */
export function users(pointsOf: (account: number) => number): User[] {
  const user = (id: number, username: string, description: string | null, facts: Partial<User> = {}): User => ({
    id,
    username,
    accountType: 'user',
    subscriptionTier: 'ultra',
    league: 0,
    rank: 0,
    totalPoints: pointsOf(id),
    matchPoints: 0,
    profileImage: null,
    profileDescription: description,
    profileTitle: null,
    ...facts,
  })
  return [
    user(ALEX, 'alex', 'Sample account with a year of history.', { league: 3, rank: 14, profileTitle: 'Steady' }),
    user(ROBIN, 'robin', 'Sample account linked to alex.', { league: 2, rank: 31 }),
    user(SAM, 'sam', null),
  ]
}

/** Those of alex: the first one is in use. */
export function lockDevices(midnight: number): LockDevice[] {
  const device = (id: number, ownerId: number, hueShift: number, silentDays: number): LockDevice => ({
    ...common(id, ownerId, midnight),
    locked: silentDays === 0,
    hueShift,
    lastVisited: formatTimestamp(midnight - silentDays * DAY_MS - id * 900_000),
  })
  return [
    device(31, ALEX, 120, 0),
    device(32, ALEX, 0, 210),
    device(33, ROBIN, 210, 3),
    { ...device(34, SAM, 0, 1), lastVisited: null },
  ]
}

/** `visitsOf` says when the training sessions of a device were, the newest last. */
export function trainingDevices(midnight: number, visitsOf: (device: number) => readonly number[]): TrainingDevice[] {
  const device = (id: number, ownerId: number, serialNumber: number, softwareVersion: string): TrainingDevice => {
    const last = visitsOf(id).at(-1)
    return {
      ...common(id, ownerId, midnight),
      serialNumber,
      softwareVersion,
      lastVisited: last === undefined ? null : formatTimestamp(last),
      // The device asks for the program, reports its start, and uploads the result.
      apiHits: 3 * visitsOf(id).length,
    }
  }
  return [
    device(21, ALEX, 10_482, '1.8.2'),
    device(22, ALEX, 20_917, '2.4.0'),
    device(23, ROBIN, 20_950, '2.4.0'),
    device(24, SAM, 21_003, '2.3.1'),
  ]
}

function common(id: number, ownerId: number, midnight: number) {
  // From the range that is reserved for examples (RFC 7042).
  const macAddress = `00:00:5E:00:53:${id.toString(16).toUpperCase().padStart(2, '0')}`
  return { id, bubbleId: bubbleId(midnight - 400 * DAY_MS, id), ownerId, macAddress }
}

/** A secondary id in the usual form: an instant and a number. */
export function bubbleId(at: number, number: number): string {
  return `${at}x${String(number).padStart(18, '0')}`
}
