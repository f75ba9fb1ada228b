import type { Best } from '../../../stats/bests.ts'
import type { YearStatistics } from '../../../stats/year.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { card, facts } from '../../layout/components.ts'
import { sharedAreas } from '../../layout/subject-notes.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Reader, Viewer } from '../../page.ts'
import type { Programs } from '../../text/program-names.ts'
import { capital, countText, dateText, durationText, numberText, percentText, unbroken } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'

/** The highest values up to the end of a year, and what is not known of it. */

export function recordCards({ viewer }: Reader, year: YearStatistics, programs: Programs): Html {
  const records = [...trainingRecords(year), ...lockRecord(viewer, year)]
  const best = bestByProgram(year, programs)
  const unknown = unknownOf(viewer, year)
  const rules = html`<ul class="rules">${unknown.map(text => html`<li>${text}</li>`)}</ul>`
  const column = (...cards: readonly (Html | false)[]) =>
    cards.some(Boolean) ? html`<div class="stack">${cards}</div>` : nothing
  return html`
    ${column(
      records.length > 0 && card(year.isRunning ? 'Records' : `Records at the end of ${year.year}`, facts(records)),
      unknown.length > 0 && card('Not known, not counted', rules),
    )}
    ${column(best.length > 0 && card('Best grade by program', facts(best)))}
  `
}

type Fact = readonly [name: string, value: Part]

function trainingRecords({ bests: { week, session, current, longest }, isRunning }: YearStatistics): Fact[] {
  const weekText = ({ from }: { from: string }) => `week of ${dayText(from)}`
  return [
    ...record('Most repetitions in a week', week, ({ reps }) => numberText(reps), weekText, daysAddress),
    ...record(
      'Most repetitions in a session',
      session,
      ({ reps }) => numberText(reps),
      ({ at }) => dateText({ timeZone: 'UTC' }, at),
      ({ id }) => `/training/${id}`,
    ),
    ...(current === undefined || !isRunning
      ? []
      : [
          fact(
            'Current streak',
            countText(current.days, 'day'),
            daysAddress(current),
            `since ${dayText(current.from)}`,
          ),
        ]),
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
    ({ session }) => dateText(viewer, session.at),
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
  const earlier = before && (former === value ? `; also ${whenOf(before)}` : `; before ${former}, ${whenOf(before)}`)
  return [fact(name, value, addressOf(best), `${whenOf(best)}${earlier ?? ''}`)]
}

function fact(name: string, value: Part, to: string, note: string): Fact {
  return [name, html`<a href="${to}">${value}</a> <small class="muted">${note}</small>`]
}

function daysAddress({ from, to }: { readonly from: string; readonly to: string }): string {
  return `/training?from=${from}&to=${to}`
}

function dayText(date: string): string {
  return unbroken(dateText({ timeZone: 'UTC' }, Date.parse(date)))
}

/** Programs with the same best grade are named together. */
function bestByProgram({ bests }: YearStatistics, programs: Programs): Fact[] {
  const graded = bests.programs.flatMap(({ program, best }) =>
    best === undefined ? [] : [{ program, best: best.best, grade: best.best.grade ?? 0 }],
  )
  return [...Map.groupBy(graded, ({ grade }) => grade)]
    .toSorted(([a], [b]) => b - a)
    .slice(0, MAX_LISTED)
    .map(([grade, same]): Fact => {
      const named = same.slice(0, MAX_NAMED)
      const others = same.length - named.length
      const links = named.map(
        ({ program, best: { id } }, index) =>
          html`${index === 0 ? '' : ', '}<a href="/training/${id}">${programs.nameOf(program)}</a>`,
      )
      return [percentText(grade), html`${links}${others === 0 ? '' : ` and ${countText(others, 'other')}`}`]
    })
}

const MAX_LISTED = 12
const MAX_NAMED = 6

type Begun = { readonly at: number } | undefined

function unknownOf(viewer: Viewer, year: YearStatistics): string[] {
  const { total, firstTraining, firstLock, practiceLocks, unknownTemplates, locksWithoutEvents } = year
  const { sessions, unknownDistances, ungradedSegments } = total.training
  const areas = sharedAreas(viewer)
  const from = zoneClock(viewer.timeZone).startOf(total.from)
  const starts = (first: Begun) => first !== undefined && first.at > from
  const day = (first: Begun) => dateText(viewer, first?.at ?? 0)
  const of = (count: number) => `${numberText(count)} of ${countText(sessions, 'session')}`
  const locks = (count: number) => countText(count, 'lock session')
  return [
    areas.includes('dtt') && starts(firstTraining) && `No training is known before ${day(firstTraining)}.`,
    areas.includes('lkbx') && starts(firstLock) && `No lock is known before ${day(firstLock)}.`,
    unknownDistances > 0 && `The distance of ${of(unknownDistances)} is not known.`,
    ungradedSegments > 0 && `${countText(ungradedSegments, 'segment')} had no grade.`,
    locksWithoutEvents > 0 && `No event of ${locks(locksWithoutEvents)} is known, so no time is counted.`,
    unknownTemplates > 0 && `The template of ${locks(unknownTemplates)} is not known; the time is counted.`,
    practiceLocks > 0 &&
      `${capital(locks(practiceLocks))} ${practiceLocks === 1 ? 'is' : 'are'} not counted, as the template says.`,
  ].filter(text => text !== false)
}
