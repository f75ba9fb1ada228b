import { devices } from '../contract/devices.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists/list-pages.ts'
import { recordById } from './record-queries.ts'

const lockDevices = { table: 'lock_device', order: 'id' } as const
const trainingDevices = { table: 'training_device', order: 'id' } as const

export const handlers: Handlers<typeof devices> = {
  listLockDevices(caller, params) {
    const owner = params.ownerId ?? caller.grant.accountId
    return recordPage(caller, lockDevices, params, devices.listLockDevices, owner)
  },

  getLockDevice(caller, { id }) {
    return recordById(caller, lockDevices, id)
  },

  listTrainingDevices(caller, params) {
    const owner = params.ownerId ?? caller.grant.accountId
    return recordPage(caller, trainingDevices, params, devices.listTrainingDevices, owner)
  },

  getTrainingDevice(caller, { id }) {
    return recordById(caller, trainingDevices, id)
  },
}
