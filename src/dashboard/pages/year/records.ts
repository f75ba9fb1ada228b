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
  const title = year.isRunning ? 'Records of all years' : `Records at the end of ${year.year}`
  return records.length === 0 ? nothing : card(title, facts(records))
}

type Fact = readonly [name: string, value: Part]

function trainingRecords({ bests: { week, session, longest } }: YearStatistics): Fact[] {
  return [
    ...record('Most repetitions in a week', week, ({ from, to, reps }) => [
      daysAddress(from, to),
      numberText(reps),
      `week of ${dayText(from)}`,
    ]),
    ...record('Most repetitions in a session', session, ({ id, reps, at }) => [
      `/training/${id}`,
      numberText(reps),
      dateText({ timeZone: 'UTC' }, at),
    ]),
    ...record('Most days with training in a row', longest, ({ from, to, days }) => [
      daysAddress(from, to),
      countText(days, 'day'),
      `up to ${dayText(to)}`,
    ]),
  ]
}

function lockRecord(viewer: Viewer, { stretch }: YearStatistics): Fact[] {
  return record(lockText('Longest locked stretch', viewer), stretch, ({ session, seconds }) => [
    `/locks/${session.id}`,
    durationText(seconds),
    dateText(viewer, session.at),
  ])
}

/** The highest value as a link, and when it was. */
function record<Item>(
  name: string,
  found: Best<Item> | undefined,
  textsOf: (item: Item) => readonly [address: string, value: string, when: string],
): Fact[] {
  if (found === undefined) return []
  const [address, value, when] = textsOf(found.best)
  return [[name, html`<a href="${address}">${value}</a> <small>${unbroken(when)}</small>`]]
}

function daysAddress(from: string, to: string): string {
  return `/training?from=${from}&to=${to}`
}

function dayText(date: string): string {
  return dateText({ timeZone: 'UTC' }, Date.parse(date))
}
