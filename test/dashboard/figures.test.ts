// engine: any
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { dataOf, sampleOfThisWeek, visitorAs } from '../support/dashboard.ts'

/** Pages with figures; those that they link to are read, too. */
const START = ['/', '/training', '/training?range=all', '/locks', '/locks?range=1y', '/year', '/programs/13']
const MAX_PAGES = 120

/** What the API says of the same, where it does. */
const known: Readonly<Record<string, (total: Record<string, number>) => number>> = {
  sessions: ({ sessions = 0 }) => sessions,
  days: ({ days = 0 }) => days,
  reps: ({ repsMeasured = 0 }) => repsMeasured,
  distance: ({ distanceMeters = 0, distanceApproximateMeters = 0 }) =>
    Math.round((distanceMeters + distanceApproximateMeters) * 1_000_000),
  passedPercent: ({ passed = 0, sessions = 0 }) => Math.round((passed * 100) / sessions),
}

test('a figure of the same days and filters has one value on all pages, which is that of the API', async () => {
  mock.timers.enable({ apis: ['Date'], now: Math.floor(Date.now() / 1000) * 1000 })
  try {
    await using service = await sampleOfThisWeek()
    const alex = await visitorAs(service.url, 'alex')
    const values = new Map<string, { readonly value: number; readonly page: string }>()
    const paths = new Set(START)
    for (const path of paths) {
      const { status, text } = await alex.get(path)
      assert.equal(status, 200, path)
      for (const [of, value] of dataOf(text)) {
        const first = values.getOrInsert(of, { value, page: path })
        assert.equal(value, first.value, `${of}: on ${path}, and on ${first.page}`)
      }
      const links = [...text.matchAll(/ href="(\/(?:training|locks)\?[^"#]*|\/year\/\d+|\/programs\/\d+)["#]/g)]
      for (const [, link = ''] of links) if (paths.size < MAX_PAGES) paths.add(link.replaceAll('&amp;', '&'))
    }
    assert.ok(paths.size === MAX_PAGES && values.size > 200, `${values.size} figures of ${paths.size} pages`)
    let compared = 0
    for (const [of, { value }] of values) {
      const [name = '', days = '', filters = ''] = of.split(' ')
      const [from, to] = days.split('/')
      const { kind, program, ...others } = Object.fromEntries(new URLSearchParams(filters))
      const figureOf = known[name]
      if (figureOf === undefined || to === undefined || Object.keys(others).length > 0) continue
      const query = new URLSearchParams({
        bucket: 'month',
        from: from ?? '',
        to,
        ...(kind && { type: kind }),
        ...(program && { programId: program }),
      })
      const { data } = (await service.fetch(`/api/v1/dtt/stats?${query}`, 'alex')).body
      assert.equal(value, figureOf(data.total), of)
      compared += 1
    }
    assert.ok(compared > 100, `${compared} figures of the API`)
  } finally {
    mock.timers.reset()
  }
})
