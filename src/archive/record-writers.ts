import { LockDevice, TrainingDevice } from '../contract/devices.ts'
import { LockSession } from '../contract/lock-sessions.ts'
import { LockTemplate } from '../contract/lock-templates.ts'
import { User } from '../contract/people.ts'
import { TrainingSession } from '../contract/training-sessions.ts'
import { TrainingTemplate, TrainingTemplateSummary } from '../contract/training-templates.ts'
import { recordWriter, type Serialize, type SortItems } from './canonical.ts'
import { instant, whole } from './record-fields.ts'

const byTime: SortItems = items => {
  const times = items.map(item => instant(item, 'createdAt'))
  const ids = items.map(item => whole(item, 'id'))
  return sorted([...items.keys()], (a, b) => at(times, a) - at(times, b) || at(ids, a) - at(ids, b))
}

/** Sorts the items that have an `order`; the others keep their positions. */
const byOrder: SortItems = items => {
  const orders = items.map(item => item['order'])
  const positions = [...items.keys()].filter(position => typeof orders[position] === 'number')
  const ordered = sorted(positions, (a, b) => Number(orders[a]) - Number(orders[b]))
  if (ordered === undefined) return undefined
  const order = [...items.keys()]
  for (const [index, position] of positions.entries()) order[position] = at(ordered, index)
  return order
}

/** The numbers of a result, and the references of a session. */
const NULL_IS_ZERO = [
  'percentGrade',
  'points',
  'durationMeasured',
  'durationTarget',
  'repsMeasured',
  'repsTarget',
  'trainer_id',
  'settings_id',
]

/** The format does not say of which type this id is. */
const ANY_TYPE = ['toyId']

export const writers = {
  user: recordWriter(User, { ignored: ['subscriptionEndsAt'] }),
  lockTemplate: recordWriter(LockTemplate),
  lockDevice: recordWriter(LockDevice),
  trainingDevice: recordWriter(TrainingDevice),
  trainingTemplate: recordWriter(TrainingTemplate, { sort: { Segment: byOrder }, anyType: ANY_TYPE }),
  trainingTemplateSummary: recordWriter(TrainingTemplateSummary, { ignored: ['Segment'], anyType: ANY_TYPE }),
  lockSession: recordWriter(LockSession, { sort: { LockSegment: byTime }, planned: ['endDate'] }),
  trainingSession: recordWriter(TrainingSession, {
    sort: { TrainerSegment: byOrder },
    nullIsZero: NULL_IS_ZERO,
    nullIsNoted: ['percentGrade'],
  }),
} satisfies Record<string, Serialize>

/** The indexes in order; undefined if they already are in order. */
function sorted(indexes: readonly number[], compare: (a: number, b: number) => number): number[] | undefined {
  const inOrder = indexes.every((index, position) => position === 0 || compare(at(indexes, position - 1), index) <= 0)
  return inOrder ? undefined : indexes.toSorted(compare)
}

function at(numbers: readonly number[], index: number): number {
  return numbers[index] ?? 0
}
