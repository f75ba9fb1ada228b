import type { Best } from '../../../stats/highest.ts'
import type { YearStatistics } from '../../../stats/year.ts'
import { card, stat } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Reader } from '../../page.ts'
import { countText, dateText, durationText, numberText } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'

/** The highest values up to the end of a year. */
export function recordCard({ viewer }: Reader, { year, isRunning, bests, stretch }: YearStatistics): Html {
  const dayText = (date: string) => dateText({ timeZone: 'UTC' }, Date.parse(date))
  const daysAddress = (from: string, to: string) => `/training?from=${from}&to=${to}`
  const records = [
    ...record('Most repetitions in a week', bests.week, ({ from, to, reps }) => [
      daysAddress(from, to),
      numberText(reps),
      `week of ${dayText(from)}`,
    ]),
    ...record('Most repetitions in a session', bests.session, ({ id, reps, at }) => [
      `/training/${id}`,
      numberText(reps),
      dateText({ timeZone: 'UTC' }, at),
    ]),
    ...record('Most days with training in a row', bests.longest, ({ from, to, days }) => [
      daysAddress(from, to),
      countText(days, 'day'),
      `up to ${dayText(to)}`,
    ]),
    ...record(lockText('Longest locked stretch', viewer), stretch, ({ session, seconds }) => [
      `/locks/${session.id}`,
      durationText(seconds),
      dateText(viewer, session.at),
    ]),
  ]
  return records.length === 0
    ? nothing
    : card(
        isRunning ? 'Records of all years' : `Records at the end of ${year}`,
        html`<dl class="stats">${records}</dl>`,
      )
}

/** The highest value as a link, and when it was. */
function record<Item>(
  name: string,
  found: Best<Item> | undefined,
  textsOf: (item: Item) => readonly [address: string, value: string, when: string],
): Html[] {
  if (found === undefined) return []
  const [address, value, when] = textsOf(found.best)
  return [stat(name, html`<a href="${address}">${value}</a>`, when)]
}
