import { ApiError } from '../../contract/errors.ts'
import type { Store } from '../../store/index.ts'
import { withFallback } from '../../store/fallback.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import type { Viewer } from '../page.ts'
import { dateTime } from '../text/text.ts'

/** What the dashboard does while the primary database is down: pages are read from a replica, and nothing is changed. */

/** Where a page is read from. */
export interface PageSource {
  readonly store: Store
  /** If it is a replica: the time up to which it has everything. */
  readonly asOf?: number
}

type Options = Pick<DashboardOptions, 'store' | 'config'>

/** Reads a page from the primary, or from a replica while the primary is down. */
export function readFromPrimaryOrReplica<Result>(
  options: Options,
  read: (source: PageSource) => Promise<Result>,
): Promise<Result> {
  const { store } = options
  if (store.primary === undefined || store.findReplica === undefined) return read({ store })
  return withFallback(
    store.primary,
    () => read({ store }),
    async () => {
      const replica = await findReplica(options)
      if (replica === undefined) throw new PrimaryDownError(false)
      return read(replica)
    },
  )
}

/** Throws PrimaryDownError if the primary is down. */
export async function requirePrimary(options: Options) {
  if ((await options.store.primary?.checkIsDown()) !== true) return
  throw new PrimaryDownError((await findReplica(options)) !== undefined)
}

async function findReplica({ store, config }: Options) {
  return store.findReplica?.(config.primaryGrace)
}

const UNREACHABLE = 'The primary database cannot be reached. Nothing was changed.'

/** A request needs the primary, which is down. It has changed nothing. */
export class PrimaryDownError extends ApiError {
  constructor(isReadable: boolean) {
    super(
      'unavailable',
      isReadable
        ? `${UNREACHABLE} Signing in and changes work again when it is back; until then, people who are signed in can read pages from a replica`
        : `${UNREACHABLE} Pages, signing in and changes work again when it is back`,
    )
  }
}

/** The banner of pages that were read from a replica; assets/live-updates.js shows and removes it in open pages. */
export function primaryDownBanner(viewer: Viewer): Html {
  return html`<div id="primary-down" role="status">${bannerOf(viewer)}</div>`
}

function bannerOf(viewer: Viewer): Html {
  const { replicaAsOf } = viewer
  if (replicaAsOf === undefined) return nothing
  return html`
    <div class="banner">
      <p>The primary database cannot be reached. This page is from a replica, as of ${dateTime(viewer, replicaAsOf)}; nothing can be changed until it is back.</p>
    </div>
  `
}
