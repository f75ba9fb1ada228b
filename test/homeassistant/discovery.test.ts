// engine: any

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exampleOf } from '../../scripts/openapi/examples.ts'
import { Status as StatusSchema } from '../../src/contract/status.ts'
import { discoveryMessage, entities, stateMessage, type Status, topicsOf } from '../../src/homeassistant/entities.ts'
import { needsJinja, renderAll } from '../support/jinja.ts'

/**
 * The message of discovery against the rules of Home Assistant. Each names the place in its source (github.com/home-assistant/core, folder
 * homeassistant) where the rule is; they were read there in the versions of 2025 and 2026.
 */

const device = {
  id: 'lockstep',
  name: 'Lockstep',
  address: 'https://history.example',
  version: '1.2.3',
}
// As it is received: what JSON leaves out is not there.
const message = JSON.parse(JSON.stringify(discoveryMessage(device)))
const components: [id: string, config: any][] = Object.entries(message.components)

const keysWithin = (given: object, allowed: readonly string[]) => {
  for (const key of Object.keys(given)) assert.ok(allowed.includes(key), key)
}

/** components/mqtt/util.py, valid_topic and valid_publish_topic. */
const isTopic = (text: unknown) => typeof text === 'string' && /^[^\p{Cc}+#]{1,65535}$/u.test(text)

test('the topic of discovery is one that Home Assistant reads', () => {
  // components/mqtt/discovery.py, TOPIC_MATCHER.
  const matcher = /^\w+\/(?:([a-zA-Z0-9_-]+)\/)?([a-zA-Z0-9_-]+)\/config$/
  for (const id of ['lockstep', 'second_home_2']) {
    const { discovery } = topicsOf({ ...device, id })
    assert.match(discovery.replace('homeassistant/', ''), matcher)
  }
  assert.ok(Object.values(topicsOf(device)).every(isTopic))
})

test('the message has what a device needs, and nothing that Home Assistant does not know', () => {
  // components/mqtt/schemas.py, DEVICE_DISCOVERY_SCHEMA, MQTT_ENTITY_DEVICE_INFO_SCHEMA, MQTT_ORIGIN_INFO_SCHEMA.
  keysWithin(message, ['device', 'origin', 'components', 'state_topic', 'qos', 'encoding', 'command_topic'])
  keysWithin(message.device, ['identifiers', 'name', 'manufacturer', 'model', 'sw_version', 'configuration_url'])
  keysWithin(message.origin, ['name', 'sw_version', 'support_url'])
  assert.ok(message.device.identifiers.length > 0 && message.origin.name !== '')
  // components/mqtt/schemas.py, configuration_url; helpers/device_registry.py, CONFIGURATION_URL_SCHEMES.
  assert.match(message.device.configuration_url, /^https?:\/\//)
  assert.ok(isTopic(message.state_topic) && [0, 1, 2].includes(message.qos))
})

test('every entity has a platform, a unique_id of its own and options of that platform', () => {
  // components/mqtt/schemas.py, _COMPONENT_CONFIG_SCHEMA, check_unique_id and MQTT_ENTITY_COMMON_SCHEMA. By SHARED_OPTIONS there, entities
  // have the state_topic of the message.
  const common = ['platform', 'unique_id', 'name', 'icon', 'availability', 'availability_mode', 'value_template']
  const options: Readonly<Record<string, readonly string[]>> = {
    // components/mqtt/sensor.py, _PLATFORM_SCHEMA_BASE.
    sensor: ['device_class', 'options', 'state_class', 'unit_of_measurement'],
    // components/mqtt/binary_sensor.py, PLATFORM_SCHEMA_MODERN.
    binary_sensor: ['device_class', 'payload_on', 'payload_off'],
  }
  for (const [id, config] of components) {
    keysWithin(config, [...common, ...(options[config.platform] ?? assert.fail(id))])
    // helpers/config_validation.py, icon.
    if ('icon' in config) assert.match(config.icon, /^mdi:[a-z-]+$/)
    // const.py, MAX_LENGTH_STATE_ENTITY_ID: the id of an entity is made from the names of device and entity.
    assert.ok(`binary_sensor.${device.name} ${config.name ?? ''}`.length <= 255)
  }
  const ids = components.map(([, { unique_id }]) => unique_id)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(ids.length, entities.length + 1)
})

test('units, device classes and state classes fit together', () => {
  for (const [id, { platform, device_class, unit_of_measurement, state_class, options }] of components) {
    if (platform !== 'sensor') continue
    // components/mqtt/sensor.py (util.py in some versions), validate_sensor_state_and_device_class_config.
    assert.equal(options !== undefined, device_class === 'enum', id)
    // components/sensor/const.py, DEVICE_CLASS_STATE_CLASSES: none for ENUM and TIMESTAMP, all for DISTANCE.
    if (['enum', 'timestamp'].includes(device_class))
      assert.deepEqual([unit_of_measurement, state_class], [undefined, undefined])
    else assert.equal(state_class, 'measurement', id)
    // components/sensor/const.py, DEVICE_CLASS_UNITS: DISTANCE has the units of UnitOfLength.
    if (device_class === 'distance') assert.equal(unit_of_measurement, 'm')
    assert.ok([undefined, 'enum', 'timestamp', 'distance'].includes(device_class), id)
  }
})

test('an entity is available only while all of its topics say so, and the age of the records stays visible', () => {
  const { availability, recent, state } = topicsOf(device)
  for (const [id, { availability: list, availability_mode: mode }] of components) {
    // components/mqtt/schemas.py, _MQTT_AVAILABILITY_LIST_SCHEMA; components/mqtt/const.py, AVAILABILITY_MODES.
    assert.equal(mode, 'all')
    for (const each of list) keysWithin(each, ['topic', 'value_template', 'payload_available', 'payload_not_available'])
    const topics = list.map(({ topic }: { topic: string }) => topic)
    assert.deepEqual(topics, id === 'as_of' ? [availability, state] : [availability, recent, state])
  }
})

test('each value is one that Home Assistant takes, and what is not known is None', needsJinja, async () => {
  const states = examples.map(({ status }) => stateMessage(status))
  const templates = components.flatMap(([, { value_template, availability }]) => [
    value_template,
    availability.at(-1).value_template,
  ])
  const rendered = await renderAll(
    templates,
    states.map(value_json => ({ value_json })),
  )
  for (const [place, { name, status, main }] of examples.entries()) {
    for (const [index, [id, config]] of components.entries()) {
      const [value = '', availability] = rendered[place]?.slice(2 * index) ?? []
      const field = entities.find(entity => entity.id === id)?.field
      const known = field === undefined ? main !== undefined : status[field] !== null
      assert.equal(availability, known ? 'online' : 'offline', `${name} ${id}`)
      // components/mqtt/const.py, PAYLOAD_NONE, which sensor.py and binary_sensor.py compare first.
      assert.equal(value === 'None', !known, `${name} ${id}`)
      if (!known) continue
      // const.py, MAX_LENGTH_STATE_STATE.
      assert.ok(value.length > 0 && value.length <= 255)
      if (id === 'status') {
        assert.equal(value, main, name)
        assert.ok(config.options.includes(value))
      } else assert.equal(value, expected(status, field ?? assert.fail(id)), `${name} ${id}`)
    }
  }
})

/** Numbers as they are, times with their zone (components/mqtt/sensor.py, MqttSensor._update_state), and words for flags. */
function expected(status: Status, field: keyof Status): string {
  const value = field === 'locked' ? status.locked === true && status.practiceLock !== true : status[field]
  return typeof value === 'boolean' ? (value ? 'ON' : 'OFF') : String(value)
}

test('the state has no id, no zone, no name and no text that the contract does not list', () => {
  for (const { status } of examples) {
    const text = JSON.stringify(stateMessage({ ...status, lockState: 'Held by Ann' }))
    assert.doesNotMatch(text, /ownerId|timeZone|Ann|Europe/)
    assert.equal(JSON.parse(text).lockState, 'other')
  }
})

/** Zero is a value as any other. */
const locked: Status = { ...(exampleOf(StatusSchema) as Status), lastSessionGradePercent: 0, sessionsToday: 0 }

/** What the service answers, and the word for it; undefined where nothing is known. */
const examples: readonly {
  readonly name: string
  readonly status: Status
  readonly main: string | undefined
}[] = [
  { name: 'locked', status: locked, main: 'locked' },
  { name: 'a break', status: { ...locked, locked: false, lockState: 'break' }, main: 'break' },
  { name: 'an open lock', status: { ...locked, locked: false, lockState: 'locked' }, main: 'open' },
  { name: 'a state of its own', status: { ...locked, locked: false, lockState: 'Held' }, main: 'open' },
  { name: 'a practice lock', status: { ...locked, practiceLock: true }, main: 'practice' },
  { name: 'an unknown template', status: { ...locked, practiceLock: null }, main: 'locked' },
  {
    name: 'hidden time',
    status: { ...locked, timeHidden: true, plannedEnd: null, plannedEndPassed: null },
    main: 'locked',
  },
  {
    name: 'no session',
    status: {
      ...locked,
      locked: false,
      lockState: 'idle',
      lockedSince: null,
      stateSince: null,
      plannedEnd: null,
      plannedEndPassed: null,
    },
    main: 'idle',
  },
  {
    name: 'locks that may not be read',
    status: {
      ...locked,
      locked: null,
      lockState: null,
      lockedSince: null,
      stateSince: null,
      plannedEnd: null,
      plannedEndPassed: null,
      timeHidden: null,
      practiceLock: null,
    },
    main: undefined,
  },
]
