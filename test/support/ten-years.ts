import { sampleArchive } from '../../src/demo/sample.ts'

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
