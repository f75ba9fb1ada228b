import type { LockDevice, TrainingDevice } from '../contract/devices.ts'
import type { User } from '../contract/people.ts'
import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import { bubbleId } from './random.ts'

/** The accounts of the sample: alex and robin are linked, sam is linked to nobody. */
export const ALEX = 1
export const ROBIN = 2
export const SAM = 3

export const trainingDeviceIds = { alexOld: 21, alex: 22, robin: 23, sam: 24 } as const

/** `points` are the total points of each account from its training sessions. */
export function users(points: ReadonlyMap<number, number>): User[] {
  const facts = {
    accountType: 'user',
    subscriptionTier: 'ultra',
    league: 0,
    rank: 0,
    totalPoints: 0,
    matchPoints: 0,
    profileImage: null,
    profileDescription: null,
    profileTitle: null,
  } as const
  return [
    {
      id: ALEX,
      username: 'alex',
      ...facts,
      league: 3,
      rank: 14,
      matchPoints: 240,
      profileDescription: 'Sample account with a year of history.',
      profileTitle: 'Steady',
    },
    {
      id: ROBIN,
      username: 'robin',
      ...facts,
      league: 2,
      rank: 31,
      matchPoints: 60,
      profileDescription: 'Sample account linked to alex.',
    },
    { id: SAM, username: 'sam', ...facts },
  ].map(user => ({ ...user, totalPoints: points.get(user.id) ?? 0 }))
}

/** A mutual partnership is two directions. */
export const partnerships = [
  { ownerId: ALEX, partnerId: ROBIN },
  { ownerId: ROBIN, partnerId: ALEX },
]

/** `locked` are the accounts with an active lock session. */
export function lockDevices(midnight: number, locked: ReadonlySet<number>): LockDevice[] {
  return [
    { id: 31, ownerId: ALEX, hueShift: 120, silentDays: 0 },
    { id: 32, ownerId: ALEX, hueShift: 0, silentDays: 210 },
    { id: 33, ownerId: ROBIN, hueShift: 210, silentDays: 3 },
    { id: 34, ownerId: SAM, hueShift: 0, silentDays: undefined },
  ].map(({ id, ownerId, hueShift, silentDays }) => {
    return {
      id,
      bubbleId: bubbleId(midnight - 400 * DAY_MS, id),
      macAddress: macAddress(id),
      ownerId,
      locked: silentDays === 0 && locked.has(ownerId),
      hueShift,
      lastVisited:
        silentDays === undefined ? null : formatTimestamp(midnight - silentDays * DAY_MS - id * QUARTER_HOUR_MS),
    }
  })
}

const QUARTER_HOUR_MS = 900_000

/** `visits` are, by training device, the last session and the number of sessions. */
export function trainingDevices(
  midnight: number,
  visits: ReadonlyMap<number, { readonly last: number; readonly count: number }>,
): TrainingDevice[] {
  return [
    { id: trainingDeviceIds.alexOld, ownerId: ALEX, serialNumber: 10_482, softwareVersion: '1.8.2' },
    { id: trainingDeviceIds.alex, ownerId: ALEX, serialNumber: 20_917, softwareVersion: '2.4.0' },
    { id: trainingDeviceIds.robin, ownerId: ROBIN, serialNumber: 20_950, softwareVersion: '2.4.0' },
    { id: trainingDeviceIds.sam, ownerId: SAM, serialNumber: 21_003, softwareVersion: '2.3.1' },
  ].map(({ id, ownerId, serialNumber, softwareVersion }) => {
    const visit = visits.get(id)
    return {
      id,
      bubbleId: bubbleId(midnight - 400 * DAY_MS, id),
      ownerId,
      macAddress: macAddress(id),
      serialNumber,
      softwareVersion,
      lastVisited: visit === undefined ? null : formatTimestamp(visit.last),
      // The device asks for the program, reports its start, and uploads the result.
      apiHits: 3 * (visit?.count ?? 0),
    }
  })
}

/** From the range that is reserved for examples (RFC 7042). */
function macAddress(id: number): string {
  return `00:00:5E:00:53:${id.toString(16).toUpperCase().padStart(2, '0')}`
}
