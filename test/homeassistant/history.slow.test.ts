// engine: any

import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setPreferences } from '../../src/accounts/preferences.ts'
import { type Client, makeClient } from '../../src/client.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { writeHistory } from '../../src/homeassistant/history.ts'
import { fullHour, means, metadataOf, sums as sumSeries } from '../../src/homeassistant/series.ts'
import { type Folder, makeFolder, start } from '../support/command.ts'
import { ADMIN, startHomeAssistant, USER } from '../support/home-assistant.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

let folder: Folder
let service: TestService
let token: string
let owner: number

before(async () => {
  folder = await makeFolder()
  for (const [name, text] of [
    ['admin', ADMIN],
    ['user', USER],
    ['wrong', 'x'],
  ] as const) {
    writeFileSync(folder.file(name), `${text}\n`)
    chmodSync(folder.file(name), 0o600)
  }
  const lines: any[] = yearOfDemo()
  owner = lines[0].data.id
  service = await startService(lines, unlimited)
  token = await service.token('alex', { scopes: ['status:read'] })
})

after(async () => {
  await service[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const inZone = (timeZone: string) => setPreferences(service.store, owner, { timeZone, units: '', weeklyGoal: null })

function write(server: string, more: object = {}) {
  return writeHistory({
    client: makeClient({ baseUrl: service.url, token }),
    server: `${server}/api/websocket`,
    token: ADMIN,
    id: 'lockstep',
    name: 'Lockstep',
    signal: new AbortController().signal,
    progress: () => {},
    ...more,
  })
}

function command(server: string, file: string, more: readonly string[] = []) {
  const env = { LOCKSTEP_URL: service.url, LOCKSTEP_TOKEN: token }
  return start(['homeassistant', 'history', '--server', server, '--token-file', folder.file(file), ...more], { env })
}

for (const zone of ['Australia/Lord_Howe']) {
  test(`days and months in Home Assistant are those of the statistics in ${zone}, and a second run writes nothing`, async () => {
    await inZone(zone)
    await using home = await startHomeAssistant()
    assert.match(await write(home.url), /^wrote \d+ rows to Home Assistant$/)
    const client = await service.as('alex')
    assert.ok((await checkTotals(home, client, zone)) > 300)
    assert.ok((await checkGrades(home, client, zone)) > 50)
    const before = home.imports().length
    assert.equal(await write(home.url), 'Home Assistant has the whole history')
    assert.equal(home.imports().length, before)
  })
}

test('every hour is sent as a full hour of the zone of its owner', () => {
  for (const [instant, zone, sent] of [
    ['2026-03-02T18:15:00Z', 'Asia/Kathmandu', '2026-03-03T00:00:00+05:45'],
    ['2026-10-25T00:00:00Z', 'Europe/Berlin', '2026-10-25T02:00:00+02:00'],
    ['2026-10-25T01:00:00Z', 'Europe/Berlin', '2026-10-25T02:00:00+01:00'],
    // Clocks go from 02:00 to 02:30, and from 02:00 back to 01:30.
    ['2026-10-03T15:30:00Z', 'Australia/Lord_Howe', '2026-10-04T02:00:00+10:30'],
    ['2026-04-04T15:00:00Z', 'Australia/Lord_Howe', '2026-04-05T02:00:00+11:00'],
  ] as const) {
    assert.equal(fullHour(Date.parse(instant), zone), sent)
    assert.equal(Date.parse(sent), Date.parse(instant))
  }
})

test('a corrected, a late and a removed record rewrite what follows them, and nothing before', async () => {
  await inZone('Europe/Berlin')
  const lines = [
    account(1, 'ben'),
    ...[1, 2, 3, 4].map(id =>
      trainingSession(id, 1, { created_at: `2025-0${id}-10T10:20:00Z`, distanceTravelled: id }),
    ),
  ]
  await using own = await startService(lines, unlimited)
  await using home = await startHomeAssistant()
  const client = makeClient({ baseUrl: own.url, token: await own.token('ben', { scopes: ['status:read'] }) })
  const reps = () => [...home.changes('lockstep:repetitions', 'UTC', 'day')].map(([day, change]) => `${day} ${change}`)
  await write(home.url, { client })
  const [first = '', second = '', third = ''] = reps()
  await own.import([trainingSession(2, 1, { created_at: '2025-02-10T12:20:00Z', distanceTravelled: 7 })], {
    onConflict: 'replace',
  })
  const before = home.imports().length
  await write(home.url, { client })
  const sums = home
    .imports()
    .slice(before)
    .filter(({ metadata }) => metadata.has_sum)
  const starts = sums.flatMap(({ stats }) => stats.map(({ start }: { start: string }) => start))
  assert.ok(starts.length > 0 && starts.every((each: string) => each >= '2025-02-10'))
  assert.deepEqual(reps().slice(0, 3), [first, second, third])
  assert.equal(home.changes('lockstep:distance', 'UTC', 'day').get('2025-02-10'), 7)
  const grades = [...(home.series.get('lockstep:grade_repetition')?.rows.keys() ?? [])]
  assert.deepEqual(grades.map(each => new Date(each).toISOString().slice(0, 13)).slice(0, 2), [
    '2025-01-10T10',
    '2025-02-10T12',
  ])
  await own.import([trainingSession(9, 1, { created_at: '2025-01-02T10:20:00Z', distanceTravelled: 3 })])
  await write(home.url, { client })
  assert.equal(home.changes('lockstep:distance', 'UTC', 'day').get('2025-01-02'), 3)
  assert.equal(home.changes('lockstep:distance', 'UTC', 'day').get('2025-04-10'), 4)
  assert.equal(await write(home.url, { client }), 'Home Assistant has the whole history')
})

test('with --every what is new or late follows, an outage of Home Assistant is waited for, and a stop is no failure', async () => {
  await inZone('Europe/Berlin')
  await using home = await startHomeAssistant()
  await using running = command(home.url, 'admin', ['--every', '1s'])
  await until(async () => running.said.stderr.includes('has the whole history'))
  home.setDown(true)
  await until(async () => /Home Assistant .*; trying again in 1 s/.test(running.said.stderr))
  home.setDown(false)
  const created = new Date(Date.now() - 3 * 3_600_000).toISOString()
  await service.import([trainingSession(99_999, owner, { created_at: created, distanceTravelled: 5000 })])
  const sum = () =>
    [...home.changes('lockstep:distance', 'UTC', 'day').values()].reduce((total, change) => total + change, 0)
  const before = sum()
  await until(async () => sum() > before + 4000)
  const late = new Date(Date.now() - 200 * 86_400_000).toISOString()
  await service.import([trainingSession(99_998, owner, { created_at: late, distanceTravelled: 5000 })])
  await until(async () => sum() > before + 9000)
  running.process.kill('SIGTERM')
  const { code, stderr } = await running.ended
  assert.equal(code, 0)
  assert.match(stderr, /stopped: the next run writes what is missing\n$/)
})

test('a token of somebody else, a wrong one and an absent Home Assistant end the command with a sentence', async () => {
  await using home = await startHomeAssistant()
  for (const [server, file, message, exit = 4] of [
    ['ws://*.example', 'admin', /^lockstep: --server must be an address such as/, 2],
    [home.url, 'user', /^lockstep: the token is not that of an administrator/],
    [home.url, 'wrong', /^lockstep: Home Assistant refused the token: Invalid access token or password\n$/],
    ['ws://127.0.0.1:1', 'admin', /^lockstep: Home Assistant does not answer\n$/],
  ] as const) {
    await using running = command(server, file)
    const { code, stderr } = await running.ended
    assert.equal(code, exit, stderr)
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /token-of/)
  }
  assert.equal(home.series.size, 0)
  assert.ok(home.commands.every(({ type }) => type === 'auth/current_user'))
})

test('no name is sent, and the ids of a second account are its own', () => {
  const all = [...sumSeries, ...means].map(series => metadataOf('second', 'Lockstep second', series))
  assert.ok(all.every(({ statistic_id: id }) => id.startsWith('lockstep:second_')))
  assert.equal(new Set(all.map(({ statistic_id: id }) => id)).size, all.length)
})

type Home = Awaited<ReturnType<typeof startHomeAssistant>>

/** What each series adds, in the parts that add up exactly, and the figure of the statistics that it must equal. */
const FIGURES: readonly (readonly [series: string, perUnit: number, path: string, figure: (bucket: any) => number])[] =
  [
    ['lockstep:locked', 3600, '/api/v1/lkbx/stats', ({ lockedSeconds }) => lockedSeconds],
    ['lockstep:breaks', 3600, '/api/v1/lkbx/stats', ({ breakSeconds }) => breakSeconds],
    ['lockstep:sessions', 1, '/api/v1/dtt/stats', ({ sessions }) => sessions],
    ['lockstep:repetitions', 1, '/api/v1/dtt/stats', ({ repsMeasured }) => repsMeasured],
    [
      'lockstep:distance',
      1_000_000,
      '/api/v1/dtt/stats',
      ({ distanceMeters, distanceApproximateMeters }) =>
        Math.round((distanceMeters + distanceApproximateMeters) * 1_000_000),
    ],
  ]

/** Checks that days and months there equal those of the service, up to yesterday and the last month. Returns how many were compared. */
async function checkTotals(home: Home, client: Client, zone: string): Promise<number> {
  let compared = 0
  const get = client.get as (path: string, params: object) => Promise<any>
  const today = Temporal.Now.plainDateISO(zone)
  for (const [series, perUnit, path, figure] of FIGURES) {
    for (const unit of ['day', 'month'] as const) {
      const changes = home.changes(series, zone, unit)
      const end = unit === 'day' ? today : today.with({ day: 1 })
      const [from, to] = [end.subtract({ years: 1 }), end.subtract({ days: 1 })].map(String)
      const { buckets } = await get(path, { bucket: unit, from, to, tz: zone })
      for (const bucket of buckets) {
        const period = unit === 'day' ? bucket.date : bucket.date.slice(0, 7)
        assert.equal(Math.round((changes.get(period) ?? 0) * perUnit), figure(bucket), `${series} ${period}`)
        compared += figure(bucket) > 0 ? 1 : 0
      }
    }
  }
  return compared
}

/** Checks that the grades of days have the lowest and highest of the statistics. */
async function checkGrades(home: Home, client: Client, zone: string): Promise<number> {
  let compared = 0
  const from = String(Temporal.Now.plainDateISO(zone).subtract({ days: 300 }))
  const { buckets } = await client.get('/api/v1/dtt/stats', { bucket: 'day', from, tz: zone })
  for (const { start, end, grades, partial } of buckets) {
    if (partial) continue
    for (const { type, min, max } of grades) {
      const rows = [...(home.series.get(`lockstep:grade_${type}`)?.rows.values() ?? [])]
      const within = rows.filter(row => row.start >= Date.parse(start) && row.start < Date.parse(end))
      assert.equal(Math.min(...within.map(row => row.min ?? NaN)), min)
      assert.equal(Math.max(...within.map(row => row.max ?? NaN)), max)
      compared += 1
    }
  }
  return compared
}

/** The account alex of the demo with its year of history. */
function yearOfDemo(now = Date.now()): object[] {
  const lines = [...sampleArchive(now)].map(text => JSON.parse(text))
  const [alex] = lines.filter(({ kind, data }) => kind === 'account' && data.username === 'alex')
  const isOfAlex = (line: any) => (line.ownerId ?? line.data.ownerId) === alex.data.id
  return [alex, ...lines.filter(line => /-(session|template)$/.test(line.kind) && isOfAlex(line))]
}
