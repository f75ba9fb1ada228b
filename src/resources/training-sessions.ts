import { trainingSessions } from '../contract/training-sessions.ts'
import { type Found, newestFirst, newestOf, ownerOf, ownersOf, rowById } from './access.ts'
import type { Answers } from './answer.ts'
import { newestPage } from './lists.ts'
import { none, one } from './replies.ts'

const sessionById = rowById('training_session')
const sessions = newestFirst('training_session')
const sessionsByResult = newestFirst('training_session', { filter: 'passed' })
const newestSession = newestOf('training_session')

export const answers: Answers<typeof trainingSessions> = {
  listTrainingSessions({ store, grant }, asked) {
    const owners = ownersOf(grant, asked.ownerId)
    const list = trainingSessions.listTrainingSessions
    const shown = asked.include === undefined ? {} : { show: withOwner }
    return asked.passed === undefined
      ? newestPage(store, sessions, owners, asked, list, shown)
      : newestPage(store, sessionsByResult, owners, asked, list, { ...shown, filter: asked.passed ? 1 : 0 })
  },

  async getLatestTrainingSession({ store, grant }, { ownerId, include }) {
    const [session] = await store.read(newestSession, { owner: ownerOf(grant, ownerId) })
    return session === undefined ? none : one(include === undefined ? session : withOwner(session))
  },

  async getTrainingSession({ store, grant: { owners } }, { id, include }) {
    const [session] = await store.read(sessionById(owners), { owners, id })
    return session && one(include === undefined ? session : withOwner(session))
  },
}

/** A training session does not name its owner unless asked to. */
function withOwner<Row extends Found>(row: Row): Row {
  const { document, etag, owner_id } = row
  return { ...row, document: `${document.slice(0, -1)},"ownerId":${owner_id}}`, etag: `${etag}-${owner_id}` }
}
