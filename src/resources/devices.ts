import { devices } from '../contract/devices.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists/list-pages.ts'
import { recordById } from './record-queries.ts'

const lockDevices = { table: 'lock_device', order: 'id' } as const
const trainingDevices = { table: 'training_device', order: 'id' } as const

export const handlers: Handlers<typeof devices> = {
  listLockDevices: (caller, params) =>
    recordPage(caller, lockDevices, params, devices.listLockDevices, params.ownerId ?? caller.grant.accountId),
  getLockDevice: (caller, { id }) => recordById(caller, lockDevices, id),
  listTrainingDevices: (caller, params) =>
    recordPage(caller, trainingDevices, params, devices.listTrainingDevices, params.ownerId ?? caller.grant.accountId),
  getTrainingDevice: (caller, { id }) => recordById(caller, trainingDevices, id),
}
