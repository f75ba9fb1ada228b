import { hash } from 'node:crypto'
import { listReads } from '../accounts/read-log-queries.ts'
import type { ReceivedAccess } from '../accounts/access.ts'
import { listAccess } from '../accounts/access-lists.ts'
import { type GivenAccess, type Read, sharing, type ReceivedAccess as SentAccess } from '../contract/sharing.ts'
import { DAY_MS, formatOptionalTimestamp, formatTimestamp, formatDate } from '../contract/time.ts'
import { type Handlers, jsonResult } from './handler.ts'
import { timeRangeOf } from './lists/list-pages.ts'
import { DOCUMENT_SEPARATOR } from './lists/page-queries.ts'
import { pageResult } from './lists/page-results.ts'

export const handlers: Handlers<typeof sharing> = {
  async getAccess({ store, grant, now }) {
    const { given, received } = await listAccess(store, grant.accountId, now)
    const data = {
      given: given.map(access => ({
        accountId: access.accountId,
        ...sentTerms(access),
        lastReadAt: formatOptionalTimestamp(access.lastReadAt),
      })) satisfies GivenAccess[],
      received: received.map(access => ({ accountId: access.accountId, ...sentTerms(access) })) satisfies SentAccess[],
    }
    return jsonResult(JSON.stringify(data))
  },

  async listReads({ store, grant }, params) {
    const range = { ...timeRangeOf(params), readerId: params.readerId }
    const entries = await listReads(store, grant.accountId, range)
    const documents = entries.map(entry =>
      JSON.stringify({ ...entry, hour: formatTimestamp(entry.hour) } satisfies Read),
    )
    const page = {
      count: entries.length,
      revisions: null,
      documents: documents.join(DOCUMENT_SEPARATOR),
      etags: documents.map(document => hash('sha1', document, 'base64url')).join(','),
      positions: entries.map(({ hour, id }) => `${hour}.${id}`).join(','),
    }
    const { limit, offset = 0 } = params
    const before = { ...range, limit: 1, offset: Math.max(0, offset - limit) }
    const isPreviousEmpty =
      entries.length === 0 && offset > 0 && (await listReads(store, grant.accountId, before)).length === 0
    return pageResult(page, { params, list: sharing.listReads.listOf(params), isPreviousEmpty })
  },
}

function sentTerms({ username, areas, recordsFrom, until, since }: Omit<ReceivedAccess, 'accountId'>) {
  return {
    username,
    areas: [...areas],
    recordsFrom: recordsFrom === null ? null : formatDate(recordsFrom / DAY_MS),
    until: formatOptionalTimestamp(until),
    since: formatOptionalTimestamp(since),
  }
}
