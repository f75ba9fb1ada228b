import assert from 'node:assert/strict'
import { addBuckets, type BucketRange, parseDate, type Unit, type WeekStart } from '../../src/contract/time.ts'
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
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  const minutes: { readonly at: number; readonly day: number }[] = []
  let latest = -Infinity
  // A little more than the range, to include what lies outside it.
  for (let minute = (buckets[0]?.start ?? 0) - HOUR; minute < (buckets.at(-1)?.end ?? 0) + HOUR; minute += MINUTE) {
    // A day that has begun does not end when clocks go back.
    latest = Math.max(latest, dayOf(format.format(minute)))
    minutes.push({ at: minute, day: latest })
  }
  return { clock, range, minutes }
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

/**
 * Checks the statistics of lock sessions in some days around an instant, and how much of them was known, against counting every minute.
 */
export async function checkLocksByMinute(at: number, zone: string, random: Random, reach = 1) {
  const { clock, range, minutes } = minutesAround(at, reach, zone)
  const until = at + Math.floor(random() * (reach + 1) * 24) * HOUR
  const sessions = lockSessionsAround(at, (reach + 1) * DAY, random, until)
  const withEvents = sessions.filter(({ intervals }) => intervals.length > 0)
  const since = random() < 0.3 ? -Infinity : Math.min(...sessions.map(session => session.at))
  const counted = new Map<number, Record<'elapsed' | 'known' | 'locked' | 'break' | 'open', number>>()
  for (const minute of minutes) {
    if (minute.day < range.from || minute.day > range.to || minute.at >= until) continue
    const day = counted.getOrInsertComputed(minute.day, () => ({ elapsed: 0, known: 0, locked: 0, break: 0, open: 0 }))
    const state = stateAt(sessions, minute.at)
    day.elapsed += 60
    if (state !== undefined) day[state] += 60
    // Not known is the time before `since`, and that in which only sessions without events run.
    const isKnown = state === undefined ? minute.at >= since : stateAt(withEvents, minute.at) !== undefined
    if (isKnown) day.known += 60
  }
  const units = ['day', 'week', 'month', 'hour'] as const
  const lists = units.map(unit => bucketsOf({ ...range, unit }, clock, until))
  const sums = await lockStatistics(sessions, { since, until }, lists)
  for (const [list, { total, buckets }] of sums.entries()) {
    const whole = { start: clock.startOf(range.from), end: clock.startOf(range.to + 1) }
    for (const [index, figures] of [...buckets, total].entries()) {
      const { start, end } = lists[list]?.[index] ?? whole
      const name = `${zone} ${units[list]} ${new Date(start).toISOString()}`
      assert.ok(figures.longestLockedSeconds <= figures.lockedSeconds, name)
      // Of hours, only that they have what the days have.
      if (units[list] === 'hour' && figures !== total) continue
      const within = [...counted].filter(([day]) => clock.startOf(day) >= start && clock.startOf(day) < end)
      const of = (what: 'elapsed' | 'known' | 'locked' | 'break' | 'open') => sum(within.map(([, day]) => day[what]))
      const { lockedSeconds, breakSeconds, openSeconds, knownSeconds, percent, lockedPercent } = figures
      const [locked, known] = [of('locked'), of('known')]
      const found = [lockedSeconds, breakSeconds, openSeconds, knownSeconds]
      assert.deepEqual(found, [locked, of('break'), of('open'), known], name)
      assert.deepEqual([percent, lockedPercent], [percentOf(locked, known), percentOf(locked, of('elapsed'))], name)
    }
    for (const name of ['started', 'ended', 'lockedSeconds', 'breakSeconds', 'openSeconds'] as const)
      assert.equal(total[name], sum(buckets.map(bucket => bucket[name])), `${zone} ${name}`)
  }
}

/** With one decimal, rounded half up. */
function percentOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.floor((part * 2000 + whole) / (2 * whole)) / 10
}

function stateAt(sessions: readonly LockTimes[], at: number): 'locked' | 'break' | 'open' | undefined {
  const running = sessions.filter(session => session.at <= at && at < (session.endAt ?? Infinity))
  const early = sessions.flatMap(({ intervals }) => intervals).filter(({ start, end }) => start <= at && at < end)
  if (early.some(({ locked }) => locked)) return 'locked'
  if (early.some(({ locked, type }) => !locked && type === 'break')) return 'break'
  return running.length > 0 || early.length > 0 ? 'open' : undefined
}

const TYPES = ['warmup', 'training', 'repetition', 'endurance'] as const

/** Training sessions within some time. */
function trainingSessionsWithin(from: number, to: number, count: number, random: Random): SessionStats[] {
  return Array.from({ length: count }, (_, id) => {
    const types = TYPES.filter(() => random() < 0.5).map(type => {
      const segments = 1 + Math.floor(random() * 4)
      const grades = Array.from({ length: segments }, () => Math.floor(random() * 101)).slice(random() < 0.2 ? 1 : 0)
      return {
        type,
        segments,
        grades,
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
      segments: sum(types.map(({ segments }) => segments)),
      grade: null,
      at: Math.floor(from + random() * (to - from)),
      passed: random() < 0.7,
      reps: sum(types.map(({ reps }) => reps)),
      distance: random() < 0.2 ? null : Math.floor(random() * 1e9),
      approximate: random() < 0.2,
      isTyped: false,
      types,
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
