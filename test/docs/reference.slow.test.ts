// engine: any
import { after, before, describe } from 'node:test'
import { world } from '../support/records.ts'
import { referencePaths, testReference } from '../support/reference.ts'
import { startService, type TestService } from '../support/service.ts'

describe('every page of the reference', () => {
  let service: TestService
  before(async () => {
    service = await startService(world)
  })
  after(() => service[Symbol.asyncDispose]())

  testReference('light', 1280, referencePaths, () => service)
  testReference('dark', 320, referencePaths, () => service)
})
