import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import * as records from './records.ts'

/** Records that pages seldom see: long names, grades beyond 100, a lock of ten years, records of the future and without times. */

const LONG_WORD = 'Sehr'.repeat(60)

const RIGHT_TO_LEFT = 'مرحبا بكم في البرنامج مع English 12 (מבחן)'

export function extremeRecords(now: number): object[] {
  const day = (days: number) => formatTimestamp(Math.floor((now + days * DAY_MS) / 1000) * 1000)
  return [
    { ...records.account(1, 'ann'), asOf: day(0) },
    records.account(2, 'b'.repeat(64)),
    records.partnership(2, 1),
    records.trainingTemplate(1, 1, { name: LONG_WORD, tagline: 'x'.repeat(300) }),
    records.trainingTemplate(2, 1, { name: RIGHT_TO_LEFT }),
    records.trainingTemplate(3, 1, { name: '' }),
    ...trainings(day),
    records.lockTemplate(41, 1, { name: LONG_WORD, duration: 315_360_000 }),
    ...locks(day),
  ]
}

type Day = (days: number) => string

function trainings(day: Day): object[] {
  const beyond = [
    records.trainerSegment(1, { percentGrade: 250, repsMeasured: 1_234_567, distanceTravelled: 98_765_432.123 }),
    records.trainerSegment(2, { type: 'unlisted', percentGrade: -20, passed: false, repsTarget: 0, durationTarget: 0 }),
  ]
  return [
    records.trainingSession(1, 1, { created_at: day(-20), settings_id: 1, TrainerSegment: beyond }),
    records.trainingSession(2, 1, { created_at: day(-10), settings_id: 3, passed: false, TrainerSegment: [] }),
    records.trainingSession(3, 1, { name: '', created_at: day(-9), settings_id: 99 }),
    records.trainingSession(4, 1, { created_at: day(40), settings_id: 1 }),
    records.trainingSession(5, 1, { created_at: day(400), settings_id: 1 }),
  ]
}

function locks(day: Day): object[] {
  const events = Array.from({ length: 40 }, (_, index) =>
    records.lockSegment(2 + index, index % 2 === 0 ? 'break' : 'locked', day(-1900 + index * 40), index % 2 === 1),
  )
  return [
    records.lockSession(
      51,
      1,
      {
        name: LONG_WORD,
        duration: 315_360_000,
        startDate: day(-3650),
        endDate: day(-10),
        LockSegment: [records.lockSegment(1, 'start', day(-3650), true), ...events],
      },
      { templateId: 41 },
    ),
    records.lockSession(52, 1, { lockState: 'abandoned', duration: 0, startDate: day(-5), LockSegment: [] }),
    records.lockSession(53, 1, { lockState: 'pending', startDate: day(30), isActive: true, LockSegment: [] }),
  ]
}
