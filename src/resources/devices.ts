import { devices } from '../contract/devices.ts'
import { accessTo, accessToOne } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists.ts'
import { recordById } from './record-queries.ts'
import { one } from './results.ts'

const lockDevices = { table: 'lock_device', order: 'id' } as const
const trainingDevices = { table: 'training_device', order: 'id' } as const

export const handlers: Handlers<typeof devices> = {
  listLockDevices({ store, grant }, params) {
    return recordPage(store, lockDevices, accessToOne(grant, params.ownerId), params, devices.listLockDevices)
  },

  async getLockDevice({ store, grant }, { id }) {
    return one(await recordById(store, lockDevices, accessTo(grant), id))
  },

  listTrainingDevices({ store, grant }, params) {
    return recordPage(store, trainingDevices, accessToOne(grant, params.ownerId), params, devices.listTrainingDevices)
  },

  async getTrainingDevice({ store, grant }, { id }) {
    return one(await recordById(store, trainingDevices, accessTo(grant), id))
  },
}
