import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint, ListEndpoint } from '../../src/contract/endpoint.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { api } from '../../src/contract/index.ts'
import type { Handler } from '../../src/resources/handler.ts'
import { handlers } from '../../src/resources/index.ts'
import { grantOf } from '../support/parameters.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'

// engine: sqlite

test('no endpoint ignores a parameter that it offers', async t => {
  await using service = await startService(world)
  for (const [name, endpoint] of Object.entries<Endpoint>(api)) {
    const { query } = endpoint
    await t.test(name, async () => {
      // A cursor is bound to all filters of its list, which is not a use of them.
      if ('listOf' in endpoint) t.mock.method(endpoint as ListEndpoint, 'listOf', () => '')
      const used = new Set<string>()
      const defaults = Object.entries(query).map(([parameter, { defaultValue }]) => [parameter, defaultValue])
      const params = new Proxy(Object.fromEntries(defaults), {
        get(target, parameter) {
          used.add(String(parameter))
          return Reflect.get(target, parameter)
        },
      })
      // Handlers have the names of their endpoints, and take the parameters of those.
      const handler = handlers[name as keyof typeof handlers] as unknown as Handler<Endpoint>
      try {
        await handler({ store: service.store, grant: grantOf(1), now: Date.now() }, params)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
      }
      // A handler receives an alias under the name it stands for.
      const unused = Object.entries(query).filter(([name, { aliasOf }]) => !used.has(aliasOf ?? name))
      assert.deepEqual(unused, [])
    })
  }
})
