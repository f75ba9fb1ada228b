import type { Static } from 'typebox'
import { get, page } from './endpoint.ts'
import { Flag, Id, Integer, nullable, record, Text, Timestamp } from './fields.ts'
import { ownerFilter } from './lock-templates.ts'

const lastVisited = nullable(Timestamp('When the device last reported; null when it never did.'))

export type LockDevice = Static<typeof LockDevice>
export const LockDevice = record('A lock device.', {
  id: Id('Identifier of the device.'),
  bubbleId: Text('Secondary identifier.'),
  macAddress: Text('Hardware address.'),
  ownerId: Id('Identifier of the account that owns it.'),
  locked: Flag('Whether the device reported itself locked.'),
  hueShift: Integer('Colour shift of the indicator.'),
  lastVisited,
})

export type TrainingDevice = Static<typeof TrainingDevice>
export const TrainingDevice = record('A training device.', {
  id: Id('Identifier of the device.'),
  bubbleId: Text('Secondary identifier.'),
  ownerId: Id('Identifier of the account that owns it.'),
  macAddress: Text('Hardware address.'),
  serialNumber: Integer('Serial number.'),
  softwareVersion: Text('Version of its software.'),
  lastVisited,
  apiHits: Integer('How often the device called in.'),
})

export const devices = {
  listLockDevices: page('/api/v1/lkbx', {
    summary: 'List lock devices',
    description: 'Every lock device the caller can read, by identifier.',
    scope: 'lkbx:read',
    filters: { ownerId: ownerFilter },
    item: LockDevice,
  }),
  getLockDevice: get('/api/v1/lkbx/:id', {
    summary: 'Get one lock device',
    scope: 'lkbx:read',
    resourceName: 'Lock device',
    data: LockDevice,
  }),
  listTrainingDevices: page('/api/v1/dtt', {
    summary: 'List training devices',
    description: 'Every training device the caller can read, by identifier.',
    scope: 'dtt:read',
    filters: { ownerId: ownerFilter },
    item: TrainingDevice,
  }),
  getTrainingDevice: get('/api/v1/dtt/:id', {
    summary: 'Get one training device',
    scope: 'dtt:read',
    resourceName: 'Training device',
    data: TrainingDevice,
  }),
}
