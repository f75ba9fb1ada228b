import type { Best } from '../../../stats/highest.ts'
import type { YearStatistics } from '../../../stats/year.ts'
import { card, facts } from '../../layout/components.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Reader, Viewer } from '../../page.ts'
import { countText, dateText, durationText, numberText, unbroken } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'

/** The highest values up to the end of a year. */
export function recordCard({ viewer }: Reader, year: YearStatistics): Html {
  const records = [...trainingRecords(year), ...lockRecord(viewer, year)]
  const title = year.isRunning ? 'Records' : `Records at the end of ${year.year}`
  return records.length === 0 ? nothing : card(title, facts(records))
}

type Fact = readonly [name: string, value: Part]

function trainingRecords({ bests: { week, session, longest } }: YearStatistics): Fact[] {
  const weekText = ({ from }: { from: string }) => `week of ${dayText(from)}`
  return [
    ...record('Most repetitions in a week', week, ({ reps }) => numberText(reps), weekText, daysAddress),
    ...record(
      'Most repetitions in a session',
      session,
      ({ reps }) => numberText(reps),
      ({ at }) => unbroken(dateText({ timeZone: 'UTC' }, at)),
      ({ id }) => `/training/${id}`,
    ),
    ...record(
      'Longest streak',
      longest,
      ({ days }) => countText(days, 'day'),
      ({ to }) => `until ${dayText(to)}`,
      daysAddress,
    ),
  ]
}

function lockRecord(viewer: Viewer, { stretch }: YearStatistics): Fact[] {
  return record(
    lockText('Longest locked stretch', viewer),
    stretch,
    ({ seconds }) => durationText(seconds),
    ({ session }) => unbroken(dateText(viewer, session.at)),
    ({ session }) => `/locks/${session.id}`,
  )
}

/** The highest value as a link, when it was, and the one that was the highest before. */
function record<Item>(
  name: string,
  found: Best<Item> | undefined,
  valueOf: (item: Item) => string,
  whenOf: (item: Item) => string,
  addressOf: (item: Item) => string,
): Fact[] {
  if (found === undefined) return []
  const { best, before } = found
  const value = valueOf(best)
  const former = before && valueOf(before)
  const earlier =
    before && (former === value ? `; also ${whenOf(before)}` : `; before that ${former}, ${whenOf(before)}`)
  const note = `${whenOf(best)}${earlier ?? ''}`
  return [[name, html`<a href="${addressOf(best)}">${value}</a> <small>${note}</small>`]]
}

function daysAddress({ from, to }: { readonly from: string; readonly to: string }): string {
  return `/training?from=${from}&to=${to}`
}

function dayText(date: string): string {
  return unbroken(dateText({ timeZone: 'UTC' }, Date.parse(date)))
}
