import {
  componentOf,
  entities,
  isKnown,
  MAIN,
  mainTemplate,
  optionsOf,
  type Read,
  valueOf,
} from '../src/homeassistant/entities.ts'

/** The package for Home Assistant without MQTT. `fields` are those of the status, which it shows as attributes. */
export function yamlPackage(address: string, fields: readonly string[]): string {
  const read: Read = field => `state_attr('sensor.lockstep', '${field}')`
  const listOf = (component: 'binary_sensor' | 'sensor') =>
    entities
      .filter(entity => componentOf(entity) === component)
      .flatMap(entity => [
        `      - name: Lockstep ${entity.name}`,
        `        unique_id: lockstep_${entity.id}`,
        ...Object.entries(optionsOf(entity)).map(([name, text]) => `        ${name}: ${text === '%' ? "'%'" : text}`),
        `        availability: "{{ ${isKnown(entity, read)} }}"`,
        `        state: "{{ ${valueOf(entity, read)} }}"`,
      ])
  return `${[
    ...YAML_HEAD,
    'rest:',
    `  - resource: ${address}/api/v1/status`,
    '    headers:',
    '      Authorization: !secret lockstep_authorization',
    '      Accept: application/json',
    '    scan_interval: 60',
    '    timeout: 10',
    '    sensor:',
    '      # locked, break, open (a session is active and its lock is open), idle (none is active), practice or unknown.',
    '      - name: Lockstep',
    `        unique_id: lockstep_${MAIN.id}`,
    `        icon: ${MAIN.icon}`,
    '        value_template: >-',
    '          {% set status = (value_json | default({}, true)).data | default({}, true) %}',
    ...mainTemplate('unknown').map(line => `          ${line}`),
    '        json_attributes_path: $.data',
    '        json_attributes:',
    ...fields.map(field => `          - ${field}`),
    '',
    'template:',
    '  - binary_sensor:',
    ...listOf('binary_sensor'),
    '  - sensor:',
    ...listOf('sensor'),
  ].join('\n')}\n`
}

const YAML_HEAD =
  `# Lockstep in Home Assistant without MQTT, as a package: one request a minute, and entities made from its answer.
#
# 1. Copy this file into the folder \`packages\` of the configuration; configuration.yaml must have
#      homeassistant:
#        packages: !include_dir_named packages
# 2. Put the API key (LOCKSTEP_TOKEN; the scope \`status:read\` is enough) into secrets.yaml, behind the word Bearer:
#      lockstep_authorization: Bearer lks_…
# 3. Replace the address of the resource below where Lockstep is not on the same machine. Lockstep listens on 127.0.0.1,
#    which a second machine cannot reach, and neither can a container: set LOCKSTEP_HOST to an address of the machine it
#    runs on, such as LOCKSTEP_HOST=192.168.1.20, or to 0.0.0.0 for all of them. Beyond a network you trust, put a proxy
#    with TLS in front, because the key is sent with each request.
#
# An entity is unavailable while its value is not known, not while it is zero. A practice lock never counts as locked.
`.split('\n')
