import type { Endpoints } from '../contract/index.ts'
import { lockStates } from '../contract/lock-sessions.ts'

/** The entities in Home Assistant: one table, of which the messages of MQTT discovery and the YAML package of the examples are made. */

export type Status = Endpoints['/api/v1/status']['data']
type Field = Exclude<
  keyof Status,
  'ownerId' | 'timeZone' | 'lockState' | 'lockedSeconds' | 'remainingSeconds' | 'asOfSeconds'
>

interface Entity {
  readonly field: Field
  /** Part of its `unique_id`, which never changes. */
  readonly id: string
  /** Follows the name of the device. */
  readonly name: string
  readonly type: 'flag' | 'time' | 'number'
  readonly icon?: string
  readonly unit?: string
}

const flag = (field: Field, id: string, name: string, icon: string): Entity => ({ field, id, name, type: 'flag', icon })
const time = (field: Field, id: string, name: string): Entity => ({ field, id, name, type: 'time' })
const number = (field: Field, id: string, name: string, unit: string): Entity => {
  return { field, id, name, type: 'number', unit }
}

export const entities: readonly Entity[] = [
  flag('locked', 'locked', 'locked', 'mdi:lock'),
  flag('plannedEndPassed', 'planned_end_passed', 'planned end passed', 'mdi:timer-sand-complete'),
  flag('timeHidden', 'time_hidden', 'time hidden', 'mdi:eye-off'),
  flag('practiceLock', 'practice_lock', 'practice lock', 'mdi:school'),
  flag('lastSessionPassed', 'last_session_passed', 'last session passed', 'mdi:check-circle-outline'),
  time('asOf', 'as_of', 'known up to'),
  time('lockedSince', 'locked_since', 'session since'),
  time('stateSince', 'state_since', 'state since'),
  time('plannedEnd', 'planned_end', 'planned end'),
  time('lastSessionAt', 'last_session_at', 'last session'),
  number('lastSessionGradePercent', 'last_grade', 'last grade', '%'),
  number('lastSessionReps', 'last_repetitions', 'last repetitions', 'repetitions'),
  number('lastSessionMeters', 'last_distance', 'last distance', 'm'),
  number('sessionsToday', 'sessions_today', 'sessions today', 'sessions'),
  number('sessionsThisWeek', 'sessions_week', 'sessions this week', 'sessions'),
  number('repsThisWeek', 'repetitions_week', 'repetitions this week', 'repetitions'),
  number('metersThisWeek', 'distance_week', 'distance this week', 'm'),
  number('streakDays', 'streak', 'streak', 'd'),
  number('longestStreakDays', 'longest_streak', 'longest streak', 'd'),
  number('bestGradePercent', 'best_grade', 'best grade', '%'),
]

/** The entity without a name of its own, which says in a word what the lock does. */
export const MAIN = {
  id: 'status',
  icon: 'mdi:lock-clock',
  states: ['locked', 'break', 'open', 'idle', 'practice'],
} as const

/** The word for a `status`, and that for one that is not known. */
export const mainTemplate = (unknown: string) => [
  `{% set state = status.lockState | default('', true) %}`,
  `{% if status.practiceLock is true %}practice`,
  `{% elif status.locked is true %}locked`,
  `{% elif state in ['break', 'idle'] %}{{ state }}`,
  `{% elif status.locked is false and state %}open`,
  `{% else %}${unknown}{% endif %}`,
]

/** How a template reads a field of the status. */
export type Read = (field: Field) => string

/** When the value of an entity is known, as a condition of a template. */
export function isKnown({ field, type }: Entity, read: Read): string {
  const value = read(field)
  if (type === 'time') return `${value} is string and ${value} | length > 0`
  return `${value} is ${type === 'flag' ? 'boolean' : 'number'}`
}

export function valueOf({ field }: Entity, read: Read): string {
  // A practice lock does not count as locked.
  return field === 'locked' ? `${read(field)} and ${read('practiceLock')} is not true` : read(field)
}

export function componentOf({ type }: Entity): 'binary_sensor' | 'sensor' {
  return type === 'flag' ? 'binary_sensor' : 'sensor'
}

/** The options of an entity that are the same in a message and in YAML. */
export function optionsOf({ type, icon, unit }: Entity) {
  const deviceClass = type === 'time' ? 'timestamp' : unit === 'm' ? 'distance' : undefined
  return {
    ...(icon === undefined ? {} : { icon }),
    ...(unit === undefined ? {} : { unit_of_measurement: unit }),
    ...(deviceClass === undefined ? {} : { device_class: deviceClass }),
    ...(type === 'number' ? { state_class: 'measurement' } : {}),
  }
}

export interface Device {
  /** Begins its topics and the `unique_id` of its entities. */
  readonly id: string
  readonly name: string
  /** Where people open the service. */
  readonly address: string
  readonly version: string
}

export function topicsOf({ id }: Pick<Device, 'id'>) {
  return {
    discovery: `homeassistant/device/${id}/config`,
    birth: 'homeassistant/status',
    /** Whether this program runs and the service answers it. */
    availability: `lockstep/${id}/availability`,
    /** Whether the records are known up to a time that is recent enough. */
    recent: `lockstep/${id}/recent`,
    state: `lockstep/${id}/state`,
  }
}

/** What Home Assistant takes for a value that is not known. */
const NONE = 'None'

export function discoveryMessage(device: Device) {
  const topics = topicsOf(device)
  const read: Read = field => `value_json.${field}`
  const shared = (id: string, known: string, isAge: boolean) => ({
    unique_id: `${device.id}_${id}`,
    availability_mode: 'all',
    availability: [
      { topic: topics.availability },
      // How old the records are can be seen even when they are too old.
      ...(isAge ? [] : [{ topic: topics.recent }]),
      { topic: topics.state, value_template: `{{ 'online' if ${known} else 'offline' }}` },
    ],
  })
  const main = {
    platform: 'sensor',
    name: null,
    icon: MAIN.icon,
    device_class: 'enum',
    options: MAIN.states,
    value_template: ['{% set status = value_json %}', ...mainTemplate(NONE)].join(''),
    ...shared(MAIN.id, 'value_json.locked is boolean and value_json.lockState is string', false),
  }
  const components = entities.map(entity => {
    const value = valueOf(entity, read)
    const known = isKnown(entity, read)
    const shown = entity.type === 'flag' ? `('ON' if ${value} else 'OFF')` : value
    const config = {
      platform: componentOf(entity),
      name: entity.name,
      ...optionsOf(entity),
      value_template: `{{ ${shown} if ${known} else '${NONE}' }}`,
      ...shared(entity.id, known, entity.field === 'asOf'),
    }
    return [entity.id, config] as const
  })
  return {
    device: {
      identifiers: [device.id],
      name: device.name,
      manufacturer: 'Lockstep',
      sw_version: device.version,
      configuration_url: device.address,
    },
    origin: { name: 'Lockstep', sw_version: device.version },
    state_topic: topics.state,
    qos: 1,
    components: { [MAIN.id]: main, ...Object.fromEntries(components) },
  }
}

/** The state of all entities: what they read of the status, so no id, and no text that the contract does not list. */
export function stateMessage(status: Status): Readonly<Record<string, unknown>> {
  const { lockState } = status
  const isListed = lockState === null || lockState === 'idle' || lockStates.some(state => state === lockState)
  return {
    lockState: isListed ? lockState : 'other',
    ...Object.fromEntries(entities.map(({ field }) => [field, status[field]])),
  }
}
