// engine: sqlite, slowly postgres
import { test } from 'node:test'
import { assertData, backwards } from '../support/responses.ts'
import { lockDevice, trainingDevice, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { testSharing } from '../support/sharing.ts'

const lock = lockDevice(4, 1, { hueShift: -12, lastVisited: '2026-02-16T18:00:00.500Z' }).data
const trainer = trainingDevice(5, 1, { lastVisited: '2026-02-16T18:00:00Z' }).data

const devices = [
  { kind: 'lock-device', name: 'lock device', path: '/api/v1/lkbx', device: lock },
  { kind: 'training-device', name: 'training device', path: '/api/v1/dtt', device: trainer },
]

for (const { kind, name, path, device } of devices) {
  const visits = { lastVisited: device.lastVisited?.replace('T18', 'T23').replace('Z', '+05:00') }
  const lines = (fields: object) => [...world, { kind, data: backwards({ ...device, ...fields, madeUpField: 1 }) }]

  test(`a ${name} has its fields in their order, and nothing else`, async () => {
    await using service = await startService(lines(visits))
    assertData(await service.fetch(`${path}/${device.id}`, 'ann'), device)
    assertData(await service.fetch(path, 'ann'), { data: [device], pagination: { limit: 50, offset: 0 } })
  })
}

testSharing({ path: '/api/v1/lkbx', resourceName: 'Lock device', record: lockDevice, isMixed: false })
testSharing({ path: '/api/v1/dtt', resourceName: 'Training device', record: trainingDevice, isMixed: false })
