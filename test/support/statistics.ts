import assert from 'node:assert/strict'
import { addBuckets, type BucketRange, parseDate, type Unit, type WeekStart } from '../../src/contract/calendar.ts'
import { boundariesOf, bucketsOf } from '../../src/stats/buckets.ts'
import type { LockEvent } from '../../src/stats/intervals.ts'
import { lockIntervals } from '../../src/stats/intervals.ts'
import { type LockTimes, lockStatistics } from '../../src/stats/lock-statistics.ts'
import { periodOf } from '../../src/stats/periods.ts'
import type { SessionStats } from '../../src/stats/training.ts'
import { trainingStatistics } from '../../src/stats/training-statistics.ts'
import { zoneClock } from '../../src/stats/zone-clock.ts'

const MINUTE = 60_000
export const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Zones with half-hour shifts, days that were skipped, midnights that do not exist or come twice, and rules of their own. */
export const HARD_ZONES = [
  'UTC',
  'Africa/Cairo',
  'America/Havana',
  'America/New_York',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Casey',
  'Antarctica/Troll',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Pacific/Apia',
]

const MAX_BUCKETS = 400

/** Ranges of at most 400 buckets that follow each other over some years. */
export function* rangesOver(years: readonly [first: number, last: number]): Generator<BucketRange> {
  const first = dayOf(`${years[0]}-01-01`)
  const end = dayOf(`${years[1]}-12-31`)
  for (const [unit, weekStart] of [
    ['day', 'monday'],
    ['week', 'monday'],
    ['week', 'sunday'],
    ['month', 'monday'],
  ] as const satisfies readonly (readonly [Unit, WeekStart])[]) {
    for (let from = first; from <= end;) {
      const next = Math.min(addBuckets(unit, from, MAX_BUCKETS - 1), end + 1)
      yield { unit, weekStart, from, to: next - 1 }
      from = next
    }
  }
}

export function dayOf(date: string): number {
  const day = parseDate(date)
  assert.ok(day !== undefined, date)
  return day
}

/** The first instant of a day, as Temporal has it. */
function temporalStart(day: number, zone: string): number {
  return Temporal.PlainDate.from('1970-01-01').add({ days: day }).toZonedDateTime(zone).epochMilliseconds
}

/** Checks that buckets follow each other, fill the range, and begin where the calendar of the zone says. */
export function checkPartition(range: BucketRange, zone: string) {
  const { unit, weekStart, from, to } = range
  const buckets = bucketsOf(range, zoneClock(zone), Date.now())
  assert.ok(buckets.length <= MAX_BUCKETS)
  assert.equal(buckets[0]?.start, temporalStart(from, zone))
  assert.equal(buckets.at(-1)?.end, temporalStart(to + 1, zone))
  for (const [index, { day, start, end }] of buckets.entries()) {
    assert.ok(start < end)
    assert.equal(end, buckets[index + 1]?.start ?? end)
    const date = Temporal.PlainDate.from('1970-01-01').add({ days: day })
    if (unit === 'week') assert.equal(date.dayOfWeek, weekStart === 'monday' ? 1 : 7)
    if (unit === 'month') assert.equal(date.day, 1)
    assert.equal(start, temporalStart(Math.max(day, from), zone), `${zone} ${String(date)}`)
  }
}

/**
 * Checks that the hours of some days follow each other and fill them, that each lies in one hour of the local time, and that it starts at
 * its beginning unless the clock jumped there.
 */
export function checkHours(from: number, to: number, zone: string) {
  const hours = bucketsOf({ unit: 'hour', weekStart: 'monday', from, to }, zoneClock(zone), Date.now())
  assert.equal(hours[0]?.start, temporalStart(from, zone))
  assert.equal(hours.at(-1)?.end, temporalStart(to + 1, zone))
  const local = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone)
  for (const [index, { day, start, end }] of hours.entries()) {
    const name = `${zone} ${new Date(start).toISOString()}`
    assert.ok(start < end && end - start <= HOUR, name)
    assert.equal(end, hours[index + 1]?.start ?? end, name)
    assert.equal(day, zoneClock(zone).dayOf(start), name)
    const jumped = local(start).offset !== local(start - 1).offset
    // A row of statistics elsewhere starts at a full hour of the offset that holds, or that held until then.
    const minutes = [local(start).minute, jumped ? (local(start - 1).minute + 1) % 60 : local(start).minute]
    assert.ok(minutes.includes(0), name)
    if (local(start).offset === local(end - 1).offset) assert.equal(local(start).hour, local(end - 1).hour, name)
  }
}

/** The transitions of a zone within some years. */
export function transitionsOf(zone: string, years: readonly [first: number, last: number]): number[] {
  const found: number[] = []
  const end = temporalStart(dayOf(`${years[1]}-12-31`), zone)
  let clock = Temporal.PlainDate.from(`${years[0]}-01-02`).toZonedDateTime(zone).getTimeZoneTransition('next')
  while (clock !== null && clock.epochMilliseconds < end) {
    found.push(clock.epochMilliseconds)
    clock = clock.getTimeZoneTransition('next')
  }
  return found
}

/** A range of days around an instant, and the day of each of its minutes, by the local time. */
function minutesAround(at: number, days: number, zone: string) {
  const clock = zoneClock(zone)
  const middle = clock.dayOf(at)
  const range = { unit: 'day', weekStart: 'monday', from: middle - days, to: middle + days } as const
  const buckets = bucketsOf(range, clock, 0)
  const hours = bucketsOf({ ...range, unit: 'hour' }, clock, 0)
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  const minutes: { readonly at: number; readonly day: number }[] = []
  let latest = -Infinity
  // A little more than the range, to include what lies outside it.
  for (let minute = (buckets[0]?.start ?? 0) - HOUR; minute < (buckets.at(-1)?.end ?? 0) + HOUR; minute += MINUTE) {
    // A day that has begun does not end when clocks go back.
    latest = Math.max(latest, dayOf(format.format(minute)))
    minutes.push({ at: minute, day: latest })
  }
  return { clock, buckets, hours, minutes }
}

/** A source of numbers below 1. */
export type Random = () => number

/** Lock sessions around an instant, some of them at the same time, with events at full minutes. */
function lockSessionsAround(at: number, span: number, random: Random, now: number): LockTimes[] {
  const minute = (from: number, length: number) => from + Math.floor((random() * length) / MINUTE) * MINUTE
  return Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
    const start = minute(at - span, 2 * span)
    const end = random() < 0.3 ? null : minute(start, span)
    const events = Array.from({ length: Math.floor(random() * 6) }, (): LockEvent => {
      const locked = random() < 0.5
      return [minute(start, span), locked ? 1 : 0, locked ? 'locked' : random() < 0.5 ? 'break' : 'unlocked']
    }).toSorted(([a], [b]) => a - b)
    return { at: start, endAt: end, intervals: lockIntervals(events, end, now) }
  })
}

/** Checks the statistics of lock sessions around an instant against counting every minute. */
export async function checkLocksByMinute(at: number, zone: string, random: Random) {
  const { clock, buckets, hours, minutes } = minutesAround(at, 1, zone)
  const now = at + Math.floor(random() * 48) * HOUR
  const sessions = lockSessionsAround(at, 2 * DAY, random, now)
  const counted = buckets.map(() => ({ locked: 0, break: 0, open: 0, elapsed: 0 }))
  for (const minute of minutes) {
    const bucket = counted[buckets.findIndex(({ start }) => clock.dayOf(start) === minute.day)]
    if (bucket === undefined || minute.at >= now) continue
    bucket.elapsed += 60
    const state = stateAt(sessions, minute.at)
    if (state !== undefined) bucket[state] += 60
  }
  const [{ total, buckets: statistics }, { buckets: byHour }] = await lockStatistics(
    sessions,
    { since: -Infinity, until: now },
    [buckets, hours],
  )
  for (const [index, bucket] of statistics.entries()) {
    const { locked, break: onBreak, open, elapsed } = counted[index] ?? assert.fail()
    assert.deepEqual([bucket.lockedSeconds, bucket.breakSeconds, bucket.openSeconds], [locked, onBreak, open], zone)
    assert.ok(bucket.longestLockedSeconds <= bucket.lockedSeconds)
    assert.equal(
      bucket.lockedPercent,
      elapsed === 0 ? null : Math.floor((locked * 2000 + elapsed) / (2 * elapsed)) / 10,
    )
  }
  for (const name of ['started', 'ended', 'lockedSeconds', 'breakSeconds', 'openSeconds'] as const) {
    assert.equal(total[name], sum(statistics.map(bucket => bucket[name])), name)
    // The hours of a day have what the day has.
    for (const [index, bucket] of statistics.entries()) {
      const ofDay = byHour.filter((_, hour) => hours[hour]?.day === buckets[index]?.day)
      assert.equal(sum(ofDay.map(each => each[name])), bucket[name], `${zone} ${name}`)
    }
  }
}

/** Checks how much of each day and week around an instant was locked against counting every minute of which that is known. */
export async function checkSharesByMinute(at: number, zone: string, random: Random) {
  const { clock, buckets: days, minutes } = minutesAround(at, 8, zone)
  const [from, to] = [days[0]?.day ?? 0, days.at(-1)?.day ?? 0]
  const until = at + Math.floor(random() * 10 * 24) * HOUR
  const sessions = lockSessionsAround(at, 6 * DAY, random, until)
  const since = random() < 0.3 ? -Infinity : Math.min(...sessions.map(session => session.at))
  const counted = new Map(days.map(({ day }) => [day, { start: clock.startOf(day), elapsed: 0, known: 0, locked: 0 }]))
  for (const minute of minutes) {
    const day = counted.get(minute.day)
    if (day === undefined || minute.at >= until) continue
    const state = shareStateAt(sessions, minute.at, since)
    day.elapsed += 60
    if (state !== 'unknown') day.known += 60
    if (state === 'locked') day.locked += 60
  }
  for (const unit of ['day', 'week', 'month'] as const) {
    const buckets = bucketsOf({ unit, weekStart: 'monday', from, to }, clock, until)
    const [{ total, buckets: figures }] = await lockStatistics(sessions, { since, until }, [buckets])
    const whole = { start: buckets[0]?.start ?? 0, end: buckets.at(-1)?.end ?? 0 }
    for (const [index, { lockedSeconds, knownSeconds, percent, lockedPercent }] of [...figures, total].entries()) {
      const { start, end } = buckets[index] ?? whole
      const within = [...counted.values()].filter(day => day.start >= start && day.start < end)
      const [known, locked] = [sum(within.map(day => day.known)), sum(within.map(day => day.locked))]
      const name = `${zone} ${unit} ${new Date(start).toISOString()}`
      assert.deepEqual([lockedSeconds, knownSeconds], [locked, known], name)
      assert.equal(percent, known === 0 ? null : Math.floor((locked * 2000 + known) / (2 * known)) / 10, name)
      // Where all is known, pages have the percent of the API.
      if (known === sum(within.map(day => day.elapsed))) assert.equal(lockedPercent, percent, name)
    }
  }
}

/** The state of a minute, `unknown` before `since` and in sessions without events. */
function shareStateAt(sessions: readonly LockTimes[], at: number, since: number): string {
  const known = sessions.filter(({ intervals }) => intervals.length > 0)
  const state = stateAt(known, at)
  if (state !== undefined) return state
  const isRunning = stateAt(sessions, at) !== undefined
  return isRunning || at < since ? 'unknown' : 'none'
}

function stateAt(sessions: readonly LockTimes[], at: number): 'locked' | 'break' | 'open' | undefined {
  const running = sessions.filter(session => session.at <= at && at < (session.endAt ?? Infinity))
  const early = sessions.flatMap(({ intervals }) => intervals).filter(({ start, end }) => start <= at && at < end)
  if (early.some(({ locked }) => locked)) return 'locked'
  if (early.some(({ locked, kind }) => !locked && kind === 'break')) return 'break'
  return running.length > 0 || early.length > 0 ? 'open' : undefined
}

const KINDS = ['warmup', 'training', 'repetition', 'endurance'] as const

/** Training sessions within some time. */
export function trainingSessionsWithin(from: number, to: number, count: number, random: Random): SessionStats[] {
  return Array.from({ length: count }, (_, id) => {
    const kinds = KINDS.filter(() => random() < 0.5).map(kind => {
      const segments = 1 + Math.floor(random() * 4)
      const grades = Array.from({ length: segments }, () => Math.floor(random() * 101)).slice(random() < 0.2 ? 1 : 0)
      return {
        kind,
        segments,
        passed: segments,
        ...gradesOf(grades),
        gradedPassed: Math.floor(random() * (grades.length + 1)),
        reps: Math.floor(random() * 500),
        distance: random() < 0.2 ? null : Math.floor(random() * 1e8),
        duration: Math.floor(random() * 900),
        points: Math.floor(random() * 50),
      }
    })
    return {
      id,
      program: 1,
      segments: sum(kinds.map(({ segments }) => segments)),
      grade: null,
      at: Math.floor(from + random() * (to - from)),
      passed: random() < 0.7,
      reps: sum(kinds.map(({ reps }) => reps)),
      distance: random() < 0.2 ? null : Math.floor(random() * 1e9),
      approximate: random() < 0.2,
      kinds,
    }
  }).toSorted((a, b) => a.at - b.at)
}

/** Checks that the statistics of training sessions by bucket sum to their total, and count each session on its date. */
export async function checkTraining(range: BucketRange, zone: string, random: Random) {
  const clock = zoneClock(zone)
  const buckets = bucketsOf(range, clock, Date.now())
  const [first = 0, last = 0] = [buckets[0]?.start, buckets.at(-1)?.end]
  const sessions = trainingSessionsWithin(first - DAY, last + DAY, 60, random)
  const { total, buckets: statistics } = await trainingStatistics(sessions, buckets, clock)
  const inRange = sessions.filter(({ at }) => at >= first && at < last)
  assert.equal(total.sessions, inRange.length)
  const dates = inRange.map(({ at }) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate(),
  )
  assert.equal(total.days, new Set(dates.map(String)).size)
  for (const [index, date] of dates.entries()) {
    const bucket = periodOf(inRange[index]?.at ?? 0, boundariesOf(buckets))
    const day = dayOf(String(date))
    assert.ok(day >= (buckets[bucket]?.day ?? Infinity), `${zone} ${String(date)}`)
    assert.ok(day < (buckets[bucket + 1]?.day ?? Infinity), `${zone} ${String(date)}`)
  }
  for (const name of NUMBERS) assert.equal(total[name], sum(statistics.map(bucket => bucket[name])), name)
}

const NUMBERS = [
  'sessions',
  'passed',
  'days',
  'reps',
  'distance',
  'approximateDistance',
  'unknownDistances',
  'duration',
  'points',
  'ungradedSegments',
] as const

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Numbers that are the same each time. */
export function seeded(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Grades of segments of a kind, their number and their sum. */
export function gradesOf(grades: readonly number[]) {
  return { grades, graded: grades.length, gradeSum: grades.reduce((sum, grade) => sum + grade, 0) }
}
