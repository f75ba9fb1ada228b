// engine: any
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { discoveryMessage } from '../../src/homeassistant/entities.ts'

const folder = join(import.meta.dirname, '../../examples/home-assistant/blueprints')
const device = {
  id: 'lockstep',
  name: 'Lockstep',
  prefix: 'homeassistant',
  address: 'http://127.0.0.1:5625',
  version: '1',
}

/** The ids that Home Assistant makes from the names of device and entity (helpers/entity_registry.py, util/__init__.py, slugify). */
const entityIds = Object.values(discoveryMessage(device).components).map(({ platform, name }) =>
  `${platform}.${[device.name, name].filter(part => part !== null).join(' ')}`.toLowerCase().replaceAll(' ', '_'),
)

for (const file of readdirSync(folder)) {
  test(`the blueprint ${file} asks for each input that it uses, and suggests entities that exist`, () => {
    const used: string[] = []
    const input = { tag: '!input', resolve: (name: string) => used.push(name) }
    const { blueprint, triggers, actions, ...rest } = parse(readFileSync(join(folder, file), 'utf8'), {
      customTags: [input],
    })
    // components/blueprint/schemas.py, BLUEPRINT_SCHEMA.
    assert.deepEqual(Object.keys(blueprint).toSorted(), ['description', 'domain', 'input', 'name'])
    assert.equal(blueprint.domain, 'automation')
    assert.deepEqual(used.toSorted(), Object.keys(blueprint.input).toSorted())
    assert.ok(triggers.length > 0 && actions !== undefined && Object.keys(rest).every(key => key === 'conditions'))
    const suggested = Object.values<any>(blueprint.input).flatMap(({ default: value, selector }) =>
      'entity' in selector ? [value] : [],
    )
    assert.ok(suggested.length > 0)
    for (const id of suggested) assert.ok(entityIds.includes(id), id)
  })
}
