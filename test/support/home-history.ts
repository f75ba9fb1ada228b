import assert from 'node:assert/strict'
import type { Client } from '../../src/client.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
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

const YEAR_MS = 364 * 86_400_000

/** The account alex of the demo with its year of history, and the same again for years before: other numbers, other weeks. */
export function yearsOfDemo(years: number, now = Date.now()): object[] {
  const lines = [...sampleArchive(now)].map(text => JSON.parse(text))
  const [alex] = lines.filter(({ kind, data }) => kind === 'account' && data.username === 'alex')
  const ownerId = alex.data.id
  const isOfAlex = (line: any) => (line.ownerId ?? line.data.ownerId) === ownerId
  const sessions = lines.filter(line => line.kind.endsWith('-session') && isOfAlex(line))
  const others = lines.filter(({ kind, data }) => kind.endsWith('-template') && data.ownerId === ownerId)
  const earlier = Array.from({ length: years - 1 }, (_, index) =>
    sessions.filter(({ data }) => data.isActive !== true).map(line => shifted(line, index + 1)),
  )
  return [alex, ...others, ...sessions, ...earlier.flat()]
}

/** A session some years earlier. */
function shifted(line: any, years: number): object {
  // A quarter of an hour more each year, so that hours differ.
  const span = years * (YEAR_MS + 900_000)
  const text = JSON.stringify(line).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, time =>
    JSON.stringify(new Date(Date.parse(JSON.parse(time)) - span).toISOString()),
  )
  const moved = JSON.parse(text)
  const id = moved.data.id + years * 100_000
  const segments = ['LockSegment', 'TrainerSegment'].filter(name => name in moved.data)
  const parts = segments.map(name => [
    name,
    moved.data[name].map((segment: any) => ({ ...segment, id: segment.id + years * 10_000_000 })),
  ])
  return {
    ...moved,
    data: {
      ...moved.data,
      id,
      ...('bubbleId' in moved.data ? { bubbleId: `b${id}` } : {}),
      ...('publicId' in moved.data ? { publicId: `p${id}` } : {}),
      ...Object.fromEntries(parts),
    },
  }
}
