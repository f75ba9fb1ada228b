import { isActive, listKeys, type ListedKey } from '../../../accounts/api-keys.ts'
import { endedTier, isEntitled } from '../../../accounts/grants.ts'
import { notFound } from '../../../contract/errors.ts'
import type { Visit } from '../../page.ts'

/** The keys of the viewer that are not revoked, the newest first. */
export async function keysOf({ store, viewer, now }: Visit) {
  const keys = (await listKeys(store, viewer.session.accountId))
    .filter(({ revoked_at }) => revoked_at === null)
    .reverse()
  return {
    keys,
    inUse: keys.filter(key => isActive(key, now)).length,
    entitled: isEntitled(viewer.session, now),
    tierEnded: endedTier(viewer.session, now),
  }
}

/** The key in the path, if it is the viewer's own and not revoked. */
export async function ownKey(visit: Visit): Promise<ListedKey> {
  const { keys } = await keysOf(visit)
  const key = keys.find(({ id }) => id === visit.id)
  if (key === undefined) throw notFound('Key')
  return key
}
