import type { Area } from '../../../contract/areas.ts'
import { patterns } from '../../charts/plane.ts'
import { card } from '../../layout/components.ts'
import { sharedAreas } from '../../layout/subject-notes.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Reader } from '../../page.ts'
import { daysName } from '../../text/period.ts'
import { lockedFigure, shares } from '../locks/charts.ts'
import type { ShownLocks } from '../locks/filters.ts'
import { lockText } from '../locks/states.ts'
import { gradePicture, repetitionsPicture } from '../training/pictures.ts'
import { medianFigure, repsFigure, type ShownTraining } from '../training/training.ts'

/** The last twelve weeks, drawn as the pages of training and locks draw them, to which they lead. */
export function weeksCard(
  { viewer, now }: Reader,
  training: ShownTraining | undefined,
  locks: ShownLocks | undefined,
): Html {
  const areas = sharedAreas(viewer)
  const strip = (area: Area, to: string, title: string, figure: Part, drawing: Html) =>
    areas.includes(area)
      ? html`<figure><figcaption><a href="${to}">${title}</a><span>${figure}</span></figcaption>${drawing}</figure>`
      : nothing
  const strips = [
    ...(training === undefined || training.sessions.length === 0
      ? []
      : [
          strip(
            'dtt',
            '/training#repetitions',
            'Repetitions',
            repsFigure(training.summary.totals.reps, daysName(training.period)),
            repetitionsPicture(viewer, training, now, {}).strip,
          ),
          strip(
            'dtt',
            '/training#grades',
            'Median grade',
            training.summary.grade === null
              ? nothing
              : medianFigure(training.summary.grade.median, daysName(training.period)),
            gradePicture(viewer, training).strip,
          ),
        ]),
    ...(locks === undefined || locks.total.knownSeconds === 0
      ? []
      : [
          strip(
            'lkbx',
            '/locks',
            lockText('Locked', viewer),
            lockedFigure(locks.total, daysName(locks.period)),
            shares(viewer, locks).strip,
          ),
        ]),
  ]
  return strips.length === 0 ? nothing : card('Last 12 weeks', html`${patterns}<div class="multiples">${strips}</div>`)
}
