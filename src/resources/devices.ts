import { devices } from '../contract/devices.ts'
import { ownersOf, rowById } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { byIdentifier } from './list-queries.ts'
import { identifierPage } from './lists.ts'
import { one } from './results.ts'

const lockDevices = byIdentifier('lock_device')
const lockDeviceById = rowById('lock_device')
const trainingDevices = byIdentifier('training_device')
const trainingDeviceById = rowById('training_device')

export const handlers: Handlers<typeof devices> = {
  listLockDevices: ({ store, grant }, asked) =>
    identifierPage(store, lockDevices, ownersOf(grant, asked.ownerId), asked, devices.listLockDevices),

  async getLockDevice({ store, grant: { owners } }, { id }) {
    const [device] = await store.read(lockDeviceById(owners), { owners, id })
    return device && one(device)
  },

  listTrainingDevices: ({ store, grant }, asked) =>
    identifierPage(store, trainingDevices, ownersOf(grant, asked.ownerId), asked, devices.listTrainingDevices),

  async getTrainingDevice({ store, grant: { owners } }, { id }) {
    const [device] = await store.read(trainingDeviceById(owners), { owners, id })
    return device && one(device)
  },
}
