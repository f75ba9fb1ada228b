import assert from 'node:assert/strict'
import type { Client } from '../../src/client.ts'
import type { startHomeAssistant } from './home-assistant.ts'

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
export async function checkTotals(home: Home, client: Client, zone: string, years: number): Promise<number> {
  let compared = 0
  const get = client.get as (path: string, params: object) => Promise<any>
  const today = Temporal.Now.plainDateISO(zone)
  for (const [series, perUnit, path, figure] of FIGURES) {
    for (const unit of ['day', 'month'] as const) {
      const changes = home.changes(series, zone, unit)
      const end = unit === 'day' ? today : today.with({ day: 1 })
      for (let year = years; year > 0; year -= 1) {
        const from = end.subtract({ years: year })
        const to = end.subtract({ years: year - 1 }).subtract({ days: 1 })
        const { buckets } = await get(path, { bucket: unit, from: String(from), to: String(to), tz: zone })
        for (const bucket of buckets) {
          const period = unit === 'day' ? bucket.date : bucket.date.slice(0, 7)
          assert.equal(Math.round((changes.get(period) ?? 0) * perUnit), figure(bucket), `${series} ${period}`)
          compared += figure(bucket) > 0 ? 1 : 0
        }
      }
    }
  }
  return compared
}

/** Checks that the grades of days have the lowest and highest of the statistics. */
export async function checkGrades(home: Home, client: Client, zone: string): Promise<number> {
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
