import { trainingSessions } from '../contract/training-sessions.ts'
import { type RecordRow, newestOf, ownerOf, ownersOf, rowById } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { newestFirst } from './list-queries.ts'
import { newestPage } from './lists.ts'
import { none, one } from './results.ts'

const sessionById = rowById('training_session')
const sessions = {
  plain: newestFirst('training_session'),
  withOwner: newestFirst('training_session', { show: 'withOwner' }),
}
const sessionsByResult = {
  plain: newestFirst('training_session', { filter: 'passed' }),
  withOwner: newestFirst('training_session', { filter: 'passed', show: 'withOwner' }),
}
const newestSession = newestOf('training_session')

export const handlers: Handlers<typeof trainingSessions> = {
  listTrainingSessions({ store, grant }, asked) {
    const owners = ownersOf(grant, asked.ownerId)
    const list = trainingSessions.listTrainingSessions
    const show = asked.include === undefined ? 'plain' : 'withOwner'
    return asked.passed === undefined
      ? newestPage(store, sessions[show], owners, asked, list)
      : newestPage(store, sessionsByResult[show], owners, asked, list, asked.passed ? 1 : 0)
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
function withOwner({ document, etag, owner_id }: RecordRow) {
  return { document: `${document.slice(0, -1)},"ownerId":${owner_id}}`, etag: `${etag}-${owner_id}` }
}
