import type { LockDevice, TrainingDevice } from '../contract/devices.ts'
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

const subscriptionTier = 'ultra'
const [ofAlex, ofRobin] = ['Sample account with a year of history.', 'Sample account linked to alex.']

export const users = [
  { id: ALEX, username: 'alex', subscriptionTier, totalPoints: 12_480, profileDescription: ofAlex },
  { id: ROBIN, username: 'robin', subscriptionTier, totalPoints: 2940, profileDescription: ofRobin },
  { id: SAM, username: 'sam', subscriptionTier },
]

/** The device of alex is in use. */
export function lockDevices(midnight: number): LockDevice[] {
  return [ALEX, ROBIN, SAM].map((ownerId, index) => ({
    ...common(31 + index, ownerId, midnight),
    locked: ownerId === ALEX,
    hueShift: 120 * index,
    lastVisited: ownerId === SAM ? null : formatTimestamp(midnight - (index * DAY_MS + 900_000)),
  }))
}

export function trainingDevices(midnight: number): TrainingDevice[] {
  return [ALEX, ROBIN, SAM].map((ownerId, index) => ({
    ...common(21 + index, ownerId, midnight),
    serialNumber: 20_917 + 33 * index,
    softwareVersion: '2.4.0',
    lastVisited: formatTimestamp(midnight - (index * DAY_MS + 900_000)),
    apiHits: 640 - 250 * index,
  }))
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
