import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { importArchive, type ImportReport } from '../../src/archive/import.ts'
import type { LockDevice, TrainingDevice } from '../../src/contract/devices.ts'
import type { LockSession } from '../../src/contract/lock-sessions.ts'
import type { LockTemplate } from '../../src/contract/lock-templates.ts'
import type { User } from '../../src/contract/people.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { TrainerSegment, TrainingSession } from '../../src/contract/training-sessions.ts'
import { segmentKinds, type TrainingTemplate } from '../../src/contract/training-templates.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { open } from '../../src/store/index.ts'
import type { RecordName } from '../../src/store/tables.ts'

const HOUR_MS = 3_600_000
const now = Date.parse('2026-03-18T14:25:36.789Z')
const [ALEX, ROBIN, SAM] = [1, 2, 3]

/** The content of a store with the sample of `today`. */
async function stored(today: number) {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-sample-'))
  const store = await open(`sqlite:${join(folder, 'sample.db')}`, { busyTimeoutMs: 1000 })
  try {
    const report = await importArchive(store, bytesOf(today))
    const all = async <Data>(table: RecordName) => {
      const rows = await store.db.selectFrom(table).select(['owner_id', 'document']).orderBy('id').execute()
      return rows.map(row => ({ ...(JSON.parse(row.document) as Data), owner: row.owner_id }))
    }
    const accounts = await store.db.selectFrom('account').select('document').orderBy('id').execute()
    return {
      report,
      users: accounts.map(({ document }) => JSON.parse(document) as User),
      links: await store.db.selectFrom('partnership').selectAll().orderBy('owner_id').execute(),
      lockTemplates: await all<LockTemplate>('lock_template'),
      lockDevices: await all<LockDevice>('lock_device'),
      trainingDevices: await all<TrainingDevice>('training_device'),
      programs: await all<TrainingTemplate>('training_template'),
      locks: await all<LockSession>('lock_session'),
      startedFrom: await store.db.selectFrom('lock_session').select(['id', 'owner_id', 'template_id']).execute(),
      trainings: await all<TrainingSession>('training_session'),
    }
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

async function* bytesOf(today: number) {
  for (const line of sampleArchive(today)) yield Buffer.from(`${line}\n`)
}

interface Line {
  readonly kind: string
  readonly data: Record<string, unknown>
  readonly ownerId?: number
  readonly legacyUpload?: boolean
}

function linesOf(today: number): Line[] {
  return [...sampleArchive(today)].map(line => JSON.parse(line) as Line)
}

const of = <Record extends { readonly owner: number }>(owner: number, records: readonly Record[]) =>
  records.filter(record => record.owner === owner)
const results = (sessions: readonly TrainingSession[]): TrainerSegment[] =>
  sessions.flatMap(session => session.TrainerSegment)
const isGraded = ({ type }: TrainerSegment) => type !== 'warmup' && type !== 'freeform'
const near = (measured: number, expected: number, tolerance: number, what: string) =>
  assert.ok(
    Math.abs(measured - expected) <= tolerance,
    `${what}: ${measured} is not within ${tolerance} of ${expected}`,
  )

/** Every instant that stands anywhere in a record. */
function instantsIn(value: unknown): number[] {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? [Date.parse(value)] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(instantsIn) : []
}

const sample = await stored(now)

test('the sample is imported whole: every line added, no field extra, no session unfinished', () => {
  const { kinds, extra, unfinishedCount }: ImportReport = sample.report
  assert.deepEqual(extra, [])
  assert.equal(unfinishedCount, 0)
  const added = Object.fromEntries(kinds.map(kind => [kind.kind, kind.added]))
  const lines = Object.fromEntries(Object.keys(added).map(kind => [kind, 0]))
  for (const { kind } of linesOf(now)) lines[kind] = (lines[kind] ?? 0) + 1
  assert.deepEqual(added, lines)
  assert.ok(kinds.every(({ replaced, unchanged, skipped }) => replaced + unchanged + skipped === 0))
})

test('the same instant gives the same lines', () => {
  assert.deepEqual([...sampleArchive(now)], [...sampleArchive(now)])
})

test('later on the same day no session is gone or changed, except the one that runs', () => {
  const sessions = (today: number) =>
    [...sampleArchive(today)].filter(line => /^\{"kind":"(lock|training)-session"/.test(line) && !isRunning(line))
  const isRunning = (line: string) => line.includes('"isActive":true')
  const midnight = now - (now % DAY_MS)
  const early = sessions(midnight)
  const late = sessions(midnight + DAY_MS - 1)
  const kept = new Set(late)
  assert.deepEqual(
    early.filter(line => !kept.has(line)),
    [],
  )
  assert.ok(late.length > early.length)
})

test('on every day, at its first and its last moment, the history is as large as promised', () => {
  const midnight = now - (now % DAY_MS)
  for (const today of [midnight, midnight + DAY_MS - 1]) {
    const lines = linesOf(today)
    const when = new Date(today).toISOString()
    const trainings = lines.filter(({ kind, ownerId }) => kind === 'training-session' && ownerId === ALEX)
    const segments = results(trainings.map(({ data }) => data as unknown as TrainingSession))
    assert.ok(trainings.length >= 180, `${trainings.length} training sessions at ${when}`)
    assert.ok(segments.length >= 1500, `${segments.length} segments at ${when}`)
    for (const kind of segmentKinds) {
      const found = segments.filter(({ type }) => type === kind)
      assert.ok(found.length >= 50, `${found.length} segments of kind ${kind} at ${when}`)
      if (found.some(isGraded)) {
        const failed = found.filter(({ passed }) => !passed).length
        assert.ok(failed >= 3 && failed < found.length / 2, `${failed} failed ${kind} segments at ${when}`)
      }
    }
    const passRate = trainings.filter(({ data }) => data['passed']).length / trainings.length
    assert.ok(passRate > 0.5 && passRate < 0.95, `pass rate ${passRate} at ${when}`)
    assert.ok(lines.filter(({ legacyUpload }) => legacyUpload).length >= 20, `legacy uploads at ${when}`)

    const locks = lines.filter(({ kind }) => kind === 'lock-session').map(({ data }) => data as unknown as LockSession)
    const eventful = locks.filter(
      ({ ownerId, LockSegment }) =>
        ownerId === ALEX && LockSegment.length >= 10 && LockSegment.some(({ type }) => type === 'break'),
    )
    assert.ok(eventful.length >= 25, `${eventful.length} eventful lock sessions at ${when}`)
    const running = locks.filter(({ isActive }) => isActive)
    assert.deepEqual(
      running.map(({ ownerId, lockState }) => [ownerId, lockState]),
      [[ALEX, 'locked']],
    )
    assert.ok(running.every(session => eventful.includes(session)))
  }
})

test('only a planned end is after now, and the last session is less than a day old at any hour', () => {
  const midnight = now - (now % DAY_MS)
  for (let hour = 0; hour < 24; hour += 1) {
    for (const today of [midnight + hour * HOUR_MS, midnight + (hour + 1) * HOUR_MS - 1]) {
      const lines = linesOf(today)
      const happened = lines.map(({ data }) => (data['isActive'] === true ? { ...data, endDate: null } : data))
      const latest = Math.max(...happened.flatMap(instantsIn))
      assert.ok(latest <= today, `${new Date(latest).toISOString()} at ${new Date(today).toISOString()}`)
      const trained = lines
        .filter(({ ownerId }) => ownerId === ALEX)
        .flatMap(({ data }) => instantsIn(data['created_at']))
      assert.ok(today - Math.max(...trained) < DAY_MS, new Date(today).toISOString())
    }
  }
})

test('alex and robin see each other, sam sees nobody, and all may read', () => {
  assert.deepEqual(
    sample.users.map(({ id, username, subscriptionTier }) => [id, username, subscriptionTier]),
    [
      [ALEX, 'alex', 'ultra'],
      [ROBIN, 'robin', 'ultra'],
      [SAM, 'sam', 'ultra'],
    ],
  )
  assert.deepEqual(
    sample.links.map(link => [link.owner_id, link.partner_id]),
    [
      [ALEX, ROBIN],
      [ROBIN, ALEX],
    ],
  )
})

test('each account has one active program; there are public ones, and ones without a device', () => {
  for (const owner of [ALEX, ROBIN, SAM]) {
    assert.equal(of(owner, sample.programs).filter(({ isActive }) => isActive).length, 1, `account ${owner}`)
  }
  assert.ok(of(ALEX, sample.programs).some(({ isPublic }) => isPublic))
  assert.ok(of(SAM, sample.programs).some(({ isPublic }) => isPublic))
  assert.ok(of(SAM, sample.programs).some(({ isPublic }) => !isPublic))
  const devices = new Map(sample.trainingDevices.map(({ id, ownerId }) => [id, ownerId]))
  const toys = sample.programs.map(({ toyId, owner }) => (toyId === null ? null : devices.get(toyId) === owner))
  assert.ok(toys.includes(null) && toys.includes(true) && !toys.includes(false))
})

test('a training session names a device and a program of its account, and neither was made later', () => {
  const devices = new Map(sample.trainingDevices.map(({ id, owner }) => [id, owner]))
  const programs = new Map(sample.programs.map(program => [program.id, program]))
  for (const { id, owner, trainer_id, settings_id, created_at } of sample.trainings) {
    assert.equal(devices.get(trainer_id), owner, `device of session ${id}`)
    assert.equal(programs.get(settings_id)?.owner, owner, `program of session ${id}`)
    assert.ok(Date.parse(programs.get(settings_id)?.createdDate ?? '') < Date.parse(created_at), `session ${id}`)
  }
})

test('a segment is passed from one grade on, the one its program says, and a session when all its segments are', () => {
  for (const session of sample.trainings) {
    assert.equal(
      session.passed,
      session.TrainerSegment.every(({ passed }) => passed),
      `session ${session.id}`,
    )
  }
  for (const program of sample.programs) {
    const runs = results(sample.trainings.filter(({ settings_id }) => settings_id === program.id))
    for (const segment of runs.filter(segment => !isGraded(segment))) assert.ok(segment.passed)
    const graded = runs.filter(isGraded)
    const lowest = Math.min(...graded.filter(({ passed }) => passed).map(({ percentGrade }) => percentGrade))
    const highest = Math.max(...graded.filter(({ passed }) => !passed).map(({ percentGrade }) => percentGrade))
    const threshold = Math.max(...program.Segment.map(({ passGradeThreshold = 0 }) => passGradeThreshold))
    assert.ok(highest < lowest, program.name)
    assert.ok(threshold === 0 || (lowest >= threshold && highest < threshold), program.name)
  }
})

test('the values of a segment of the sample agree with each other', () => {
  for (const segment of results(sample.trainings)) {
    const { id, type, passed, percentGrade, points, durationMeasured, durationTarget, repsMeasured, repsTarget } =
      segment
    const what = `segment ${id} (${type})`
    assert.ok(durationMeasured > 0 && durationTarget > 0, what)
    assert.ok(durationMeasured <= durationTarget * 1.2, what)
    if (isGraded(segment)) {
      assert.ok(repsMeasured <= repsTarget * 1.06 + 1, what)
      const reached = type === 'endurance' ? durationMeasured / durationTarget : repsMeasured / repsTarget
      near(percentGrade, 100 * reached, 0.5, what)
    } else {
      assert.equal(percentGrade, 100, what)
      assert.equal(durationMeasured, durationTarget, what)
    }
    assert.ok(passed ? points > 0 && points <= 15 : points === 0, what)
    // The pace and the distance may include a last stroke that was not a complete repetition.
    if (segment.speedMeasured != null) {
      near(segment.speedMeasured, (60 * repsMeasured) / durationMeasured, 30 / durationMeasured + 0.1, what)
    }
    if (segment.longestDeepthroat != null) assert.ok(segment.longestDeepthroat < durationMeasured * 1000, what)
    if (segment.strokeLength != null) {
      const expected = (2 * repsMeasured * segment.strokeLength) / 1000
      near(Number(segment.distanceTravelled), expected, expected * 0.03 + segment.strokeLength / 900, what)
    }
  }
})

test('the values of sessions, accounts and devices add up', () => {
  for (const { id, TrainerSegment, repsMeasured, distanceTravelled } of sample.trainings) {
    const sum = (pick: (segment: TrainerSegment) => number) =>
      TrainerSegment.reduce((total, segment) => total + pick(segment), 0)
    assert.equal(
      repsMeasured,
      sum(segment => segment.repsMeasured),
      `session ${id}`,
    )
    near(
      Number(distanceTravelled),
      sum(segment => segment.distanceTravelled ?? 0),
      1e-6,
      `session ${id}`,
    )
  }
  for (const { id, totalPoints } of sample.users) {
    assert.equal(
      totalPoints,
      results(of(id, sample.trainings)).reduce((total, { points }) => total + points, 0),
    )
  }
  for (const { id, lastVisited } of sample.trainingDevices) {
    const visits = sample.trainings.filter(({ trainer_id }) => trainer_id === id)
    assert.equal(lastVisited, visits.at(-1)?.created_at)
  }
})

test('lock sessions start locked, alternate between break and locked, and end unlocked', () => {
  for (const { id, isActive, startDate, duration, endDate, LockSegment } of sample.locks) {
    const types = LockSegment.map(({ type }) => type)
    const between = types.slice(1, isActive ? undefined : -1)
    assert.equal(types[0], 'start', `session ${id}`)
    assert.equal(LockSegment[0]?.createdAt, startDate, `session ${id}`)
    assert.ok(
      between.every((type, index) => type === (index % 2 === 0 ? 'break' : 'locked')),
      `session ${id}`,
    )
    assert.equal(between.length % 2, 0, `session ${id} is not on a break`)
    for (const { type, isLocked } of LockSegment) assert.equal(isLocked, type === 'start' || type === 'locked')
    if (isActive) assert.equal(Date.parse(endDate ?? ''), Date.parse(startDate) + duration * 1000)
    else {
      assert.equal(types.at(-1), 'unlocked', `session ${id}`)
      if (endDate !== undefined) assert.equal(LockSegment.at(-1)?.createdAt, endDate, `session ${id}`)
    }
  }
})

test('lock sessions of an account never overlap, keep to their templates, and end as their state says', () => {
  const templates = new Map(sample.lockTemplates.map(template => [template.id, template]))
  const startedFrom = new Map(sample.startedFrom.map(({ id, template_id }) => [id, Number(template_id)]))
  assert.deepEqual(
    new Set(of(ALEX, sample.locks).map(({ lockState }) => lockState)),
    new Set(['completed', 'abandoned', 'locked']),
  )
  for (const owner of [ALEX, ROBIN, SAM]) {
    let free = 0
    for (const session of of(owner, sample.locks)) {
      const template = templates.get(startedFrom.get(session.id) ?? 0)
      assert.ok(template !== undefined && template.owner === owner, `template of session ${session.id}`)
      const { duration, minDuration, maxDuration } = template
      assert.ok(session.duration >= (minDuration ?? duration) && session.duration <= (maxDuration ?? duration))

      const instants = session.LockSegment.map(({ createdAt }) => Date.parse(createdAt))
      const start = Date.parse(session.startDate)
      const end = Number(instants.at(-1))
      assert.ok(Date.parse(template.createdAt) < start && start > free, `start of session ${session.id}`)
      const planned = start + session.duration * 1000
      if (session.lockState === 'abandoned') assert.ok(end < planned, `session ${session.id} was abandoned`)
      if (session.lockState === 'completed') {
        const late = session.LockSegment.filter(
          ({ type }, index) =>
            type === 'break' && Number(instants[index + 1]) - Number(instants[index]) > template.breakMaximum * 1000,
        )
        assert.equal(end, planned + late.length * template.breakPenalty * 1000, `end of session ${session.id}`)
      }
      free = end
    }
  }
})

test('the running lock session of the sample began a few days ago and is not over, and its device is locked', () => {
  const [running, ...others] = sample.locks.filter(({ isActive }) => isActive)
  assert.ok(running !== undefined && others.length === 0)
  assert.equal(running.owner, ALEX)
  assert.equal(running.lockState, 'locked')
  const start = Date.parse(running.startDate)
  assert.ok(start < now - 3 * DAY_MS && start > now - 7 * DAY_MS)
  assert.ok(start + running.duration * 1000 > now)
  assert.deepEqual(
    sample.lockDevices.filter(({ locked }) => locked).map(({ owner }) => owner),
    [ALEX],
  )
})

test('identifiers of the sample are unique within their kind', () => {
  for (const ids of [
    results(sample.trainings).map(({ id }) => id),
    sample.locks.flatMap(({ LockSegment }) => LockSegment.map(({ id }) => id)),
    sample.programs.flatMap(({ Segment }) => Segment.map(({ id }) => id)),
    sample.trainings.map(session => session.bubble_id),
    sample.locks.map(session => session.publicId),
  ]) {
    assert.equal(new Set<number | string>(ids).size, ids.length)
  }
})
