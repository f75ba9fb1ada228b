// engine: any
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { settings } from '../../src/config.ts'
import { api } from '../../src/contract/index.ts'
import { needsJinja, renderAll } from '../support/jinja.ts'
import { account, lockSegment, lockSession, lockTemplate, trainingSession } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const source = readFileSync(join(import.meta.dirname, '../../examples/home-assistant/lockstep.yaml'), 'utf8')
const secret = { tag: '!secret', resolve: (name: string) => `secret ${name}` }
const file = parse(source, { customTags: [secret] })
const [resource] = file.rest
const [sensor] = resource.sensor
const binarySensors: readonly Entity[] = file.template.flatMap((part: any) => part.binary_sensor ?? [])
const sensors: readonly Entity[] = file.template.flatMap((part: any) => part.sensor ?? [])
const entities = [...binarySensors, ...sensors]

interface Entity {
  readonly name: string
  readonly unique_id: string
  readonly device_class?: string
  readonly availability: string
  readonly state: string
}

/** What an entity shows; its state counts only while it is available. */
interface Shown {
  readonly available: string
  readonly state: string
}

interface Rendered {
  readonly main: string
  readonly entities: readonly Shown[]
}

let service: TestService
/** Responses of a real server, by the state that the package must show for them. */
const answers = new Map<string, string>()

before(async () => {
  const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
  const events = {
    locked: [lockSegment(1, 'start', at(20), true)],
    break: [lockSegment(1, 'start', at(20), true), lockSegment(2, 'break', at(2), false)],
    open: [lockSegment(1, 'start', at(20), true), lockSegment(2, 'unlocked', at(2), false)],
    practice: [lockSegment(1, 'start', at(20), true)],
  }
  const states = Object.entries(events).map(([state, LockSegment], index) => [
    account(index + 1, `who-${state}`),
    lockTemplate(index + 1, index + 1, { isTimeDisplayed: state !== 'open', isTestLock: state === 'practice' }),
    lockSession(
      index + 1,
      index + 1,
      {
        lockState: state === 'break' ? 'break' : 'locked',
        isActive: true,
        startDate: at(20),
        endDate: at(-40),
        LockSegment: LockSegment.map(event => ({ ...event, id: event.id + index * 10 })),
      },
      { templateId: index + 1 },
    ),
    trainingSession(index + 1, index + 1, { created_at: at(1), distanceTravelled: 12.5 }),
  ])
  service = await startService([...states.flat(), account(9, 'who-idle')], unlimited)
  for (const state of [...Object.keys(events), 'idle']) {
    const { status, text } = await service.fetch(pathOf(resource.resource), await service.token(`who-${state}`))
    assert.equal(status, 200)
    answers.set(state, text)
  }
})

after(() => service[Symbol.asyncDispose]())

test('the package asks one address once a minute, with the key as a secret', () => {
  assert.equal(file.rest.length, 1)
  assert.equal(resource.resource, `${settings.url.fallback}/api/v1/status`)
  assert.ok(resource.scan_interval >= 60)
  assert.equal(resource.headers.Authorization, 'secret lockstep_authorization')
  for (const word of [settings.token.env, settings.host.env, 'status:read']) assert.ok(source.includes(word), word)
})

test('every entity has a unique_id of its own, and reads an attribute that the status has', () => {
  const ids = [sensor, ...entities].map(entity => entity.unique_id)
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.every(id => /^lockstep_[a-z_]+$/.test(id)))
  const body = JSON.parse(answers.get('locked') ?? '')
  assert.deepEqual(sensor.json_attributes, Object.keys(body.data))
  for (const key of Object.keys(body.data)) assert.ok(key in api.getStatus.data.properties)
  for (const entity of entities) {
    const used = [...`${entity.availability}${entity.state}`.matchAll(/state_attr\('([^']+)', '(\w+)'\)/g)]
    assert.ok(used.length >= 2)
    for (const [, id, key = ''] of used) {
      assert.equal(id, `sensor.${sensor.name.toLowerCase()}`)
      assert.ok(key in body.data, key)
      // Whether the lock is for practice decides whether it counts as locked.
      assert.ok(key === keyOf(entity) || (key === 'practiceLock' && keyOf(entity) === 'locked'))
    }
  }
})

test('a break, an open lock, a locked one and none are distinguished', needsJinja, async () => {
  const rendered = await render([...answers.values()])
  const states = rendered.map(({ main }) => main)
  assert.deepEqual(states, [...answers.keys()])
})

test('each entity shows the value of the status, and is unavailable where there is none', needsJinja, async () => {
  const bodies = [...answers.values()]
  for (const [index, shown] of (await render(bodies)).entries()) {
    const { data } = JSON.parse(bodies[index] ?? '')
    for (const [place, entity] of entities.entries()) check(entity, shown.entities[place], valueOf(entity, data))
  }
  const hidden = JSON.parse(answers.get('open') ?? '').data
  assert.deepEqual([hidden.timeHidden, hidden.plannedEnd], [true, null])
})

test('no field that is null, empty or absent breaks an entity, in any state', needsJinja, async () => {
  const cases = [...answers].flatMap(([state, text]) =>
    Object.keys(JSON.parse(text).data).flatMap(key =>
      [null, '', undefined].map(value => {
        const body = JSON.parse(text)
        // JSON leaves out what is undefined.
        return { state, key, body: { ...body, data: { ...body.data, [key]: value } } }
      }),
    ),
  )
  assert.ok(cases.length > 250)
  const rendered = await render(cases.map(({ body }) => JSON.stringify(body)))
  for (const [index, { state, key, body }] of cases.entries()) {
    const { main, entities: shown } = rendered[index] ?? assert.fail()
    // A lock that is closed is closed whatever the session says; else both fields are needed.
    const expected =
      key === 'practiceLock' && state === 'practice'
        ? 'locked'
        : key === 'lockState' && !['locked', 'practice'].includes(state)
          ? 'unknown'
          : key === 'locked' && (state === 'locked' || state === 'open')
            ? 'unknown'
            : state
    assert.equal(main, expected, `${state} without ${key}`)
    for (const [place, entity] of entities.entries()) check(entity, shown[place], valueOf(entity, body.data))
  }
})

test('a response that is not a status breaks nothing: all is unknown or unavailable', needsJinja, async () => {
  const { text } = await service.fetch('/api/v1/status', 'lks_none')
  const bodies = [text, '', 'Bad Gateway', 'null', '""', '[]', '[1]', '"x"', '1', '{}', '{"ok":true}']
  const data = ['null', '""', '[]', '{}', '"x"', '0', 'false'].map(value => `{"ok":true,"data":${value}}`)
  for (const { main, entities: shown } of await render([...bodies, ...data])) {
    assert.equal(main, 'unknown')
    assert.ok(shown.every(({ available }) => available === 'False'))
  }
})

function check({ unique_id: id }: Entity, shown: Shown | undefined, value: unknown) {
  const isKnown = value !== null && value !== undefined && value !== ''
  assert.equal(shown?.available, isKnown ? 'True' : 'False', id)
  if (isKnown) assert.equal(shown.state, typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value), id)
}

/** What an entity must show: a practice lock does not count as locked. */
function valueOf(entity: Entity, data: any): unknown {
  const value = data[keyOf(entity)]
  return keyOf(entity) === 'locked' && value === true ? data.practiceLock !== true : value
}

function keyOf({ state }: Entity): string {
  return /state_attr\('[^']+', '(\w+)'\)/.exec(state)?.[1] ?? ''
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

/** Renders the templates for each body as Home Assistant does, but with an error for any undefined value that is used. */
async function render(bodies: readonly string[]): Promise<Rendered[]> {
  const templates = [sensor.value_template, ...entities.flatMap(({ availability, state }) => [availability, state])]
  const rendered = await renderAll(
    templates.map(text => text.replaceAll(/state_attr\('[^']+', /g, 'attributes.get(')),
    bodies.map(variablesOf),
  )
  return rendered.map(([main = '', ...texts]) => ({
    main,
    entities: entities.map((_, index) => ({ available: texts[2 * index] ?? '', state: texts[2 * index + 1] ?? '' })),
  }))
}

/** What a template reads of a body: its JSON, if it is JSON, and the attributes that are taken from it. */
function variablesOf(value: string): object {
  let json: any
  try {
    json = JSON.parse(value)
  } catch {
    return { value, attributes: {} }
  }
  const read = Object.entries(json?.data ?? {}).filter(([name]) => sensor.json_attributes.includes(name))
  return { value, value_json: json, attributes: Object.fromEntries(read) }
}
