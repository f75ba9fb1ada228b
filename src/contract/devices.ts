import type { Static } from 'typebox'
import { get, listEndpoint } from './endpoint.ts'
import { Flag, Id, Integer, nullable, record, Text, Timestamp, whenKnown } from './fields.ts'
import { ownerOrCaller } from './parameters.ts'

const lastVisited = nullable(Timestamp('When the device last visited; null when unknown.'))

export type LockDevice = Static<typeof LockDevice>
export const LockDevice = record('A lock device.', {
  id: Id('Id of the device.'),
  bubbleId: Text('Second id, as text.'),
  macAddress: Text('MAC address.'),
  ownerId: Id('Id of the account that owns it.'),
  locked: Flag('Whether the device is locked.'),
  hueShift: Integer('Hue shift; 0 when unknown.'),
  lastVisited,
})

export type TrainingDevice = Static<typeof TrainingDevice>
export const TrainingDevice = record('A training device.', {
  id: Id('Id of the device.'),
  bubbleId: Text('Second id, as text.'),
  ownerId: Id('Id of the account that owns it.'),
  macAddress: Text('MAC address.'),
  serialNumber: Integer('Serial number; 0 when unknown.'),
  softwareVersion: Text('Software version.'),
  lastVisited,
  apiHits: Integer('API hits of the device; 0 when unknown.'),
  lastLogAt: whenKnown(
    nullable(Timestamp('Time of its last log; null when unknown. Absent when the source had none.')),
  ),
})

export const devices = {
  listLockDevices: listEndpoint('/api/v1/lkbx', {
    summary: 'List lock devices',
    description: 'The lock devices of the caller, or of `ownerId`, by id.',
    scope: 'lkbx:read',
    filters: ownerOrCaller,
    item: LockDevice,
  }),
  getLockDevice: get('/api/v1/lkbx/:id', {
    summary: 'Get one lock device',
    scope: 'lkbx:read',
    resourceName: 'Lock device',
    data: LockDevice,
  }),
  listTrainingDevices: listEndpoint('/api/v1/dtt', {
    summary: 'List training devices',
    description: 'The training devices of the caller, or of `ownerId`, by id.',
    scope: 'dtt:read',
    filters: ownerOrCaller,
    item: TrainingDevice,
  }),
  getTrainingDevice: get('/api/v1/dtt/:id', {
    summary: 'Get one training device',
    scope: 'dtt:read',
    resourceName: 'Training device',
    data: TrainingDevice,
  }),
}
