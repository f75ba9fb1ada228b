import { type Bucket, boundariesOf } from '../../../stats/buckets.ts'
import type { LockedShare } from '../../../stats/lock-statistics.ts'
import type { TrainingHistory } from '../../../stats/training-history.ts'
import { sparkBars } from '../../charts/spark.ts'
import { card } from '../../layout/components.ts'
import { sharedAreas } from '../../layout/subject-notes.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Reader } from '../../page.ts'
import { countText, partText } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'

/** The last twelve weeks as the pages of training and locks show them, which are linked: repetitions, grade and time under lock. */
export async function weeksCard(
  { viewer }: Reader,
  history: TrainingHistory,
  weeks: readonly Bucket[],
  shares: { readonly total: LockedShare; readonly buckets: readonly LockedShare[] },
): Promise<Html> {
  const periods = boundariesOf(weeks)
  const summary = await history.summary(await history.select({}, periods[0], periods.at(-1)), periods)
  const { totals } = summary
  const grades = summary.periods.map(({ grade }) => grade)
  const known = grades.filter(grade => grade !== null)
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const areas = sharedAreas(viewer)
  const isTrained = areas.includes('dtt') && totals.sessions > 0
  const range = low === high ? '' : `, weeks from ${low} to ${high}\u00a0%`
  const { lockedSeconds, knownSeconds } = shares.total
  const multiples = [
    isTrained &&
      multiple(
        '/training',
        'Repetitions',
        countText(totals.reps, 'repetition'),
        summary.periods.map(({ reps }) => reps),
      ),
    isTrained &&
      totals.grade !== null &&
      multiple('/training', 'Grade', `${totals.grade}\u00a0% on average${range}`, grades, {
        lowest: Math.floor(low / 10) * 10 - 10,
        highest: Math.max(high, Math.ceil(high / 10) * 10),
      }),
    areas.includes('lkbx') &&
      knownSeconds > 0 &&
      multiple(
        '/locks?range=12w',
        lockText('Locked', viewer),
        `${partText(lockedSeconds, knownSeconds)} of the time`,
        shares.buckets.map(({ percent }) => percent),
        { highest: 100 },
      ),
  ]
  if (!multiples.some(Boolean)) return nothing
  return card('Last 12 weeks', html`<div class="multiples">${multiples}</div>`)
}

function multiple(
  to: string,
  title: string,
  text: string,
  values: readonly (number | null)[],
  range: { readonly lowest?: number; readonly highest?: number } = {},
): Html {
  return html`<figure><figcaption><a href="${to}">${title}</a><span>${text}</span></figcaption>${sparkBars(values, { ...range, text: `${title} by week`, isRunning: true })}</figure>`
}
