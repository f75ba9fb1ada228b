import { dotted } from './layout/components.ts'
import { html, type Html, nothing } from './html.ts'
import { numberText } from './text/text.ts'

const PAGE_SIZE = 15

export interface Paged<Item> {
  readonly rows: readonly Item[]
  readonly page: number
  readonly pages: number
  /** The number of the first row among all, from 1. */
  readonly first: number
  readonly total: number
}

/** The page that a query names; the first if it names none. */
export function pageNumber(query: URLSearchParams): number {
  const page = query.get('page') ?? ''
  return /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1
}

/** The page of the items that a query names; the last one if there are fewer pages. */
export function paginate<Item>(items: readonly Item[], query: URLSearchParams, size = PAGE_SIZE): Paged<Item> {
  const { limit, offset } = rowsOfPage(items.length, query, size)
  return paged(items.slice(offset, offset + limit), items.length, { limit, offset })
}

/** Which of all rows a page has, for a query; the last page if there are fewer. */
export function rowsOfPage(total: number, query: URLSearchParams, size = PAGE_SIZE): Rows {
  const limit = query.get('rows') === 'all' ? MAX_PRINTED_ROWS : size
  return { limit, offset: (Math.min(pageNumber(query), pagesOf(total, limit)) - 1) * limit }
}

/** How many rows a page to print has. More would take long. */
const MAX_PRINTED_ROWS = 1000

export function paged<Item>(rows: readonly Item[], total: number, { limit, offset }: Rows): Paged<Item> {
  return { rows, page: offset / limit + 1, pages: pagesOf(total, limit), first: offset + 1, total }
}

interface Rows {
  readonly limit: number
  readonly offset: number
}

function pagesOf(total: number, size: number): number {
  return Math.max(1, Math.ceil(total / size))
}

/**
 * Which rows are shown, and links to the previous and the next page that keep the rest of the query; nothing if all are. `anchor` is the
 * id of the card with the table.
 */
export function tableFoot(path: string, query: URLSearchParams, paged: Paged<unknown>, anchor = 'sessions'): Html {
  const { rows, page, pages, first, total } = paged
  if (pages === 1) return nothing
  const all = new URLSearchParams(query)
  all.delete('page')
  all.set('rows', 'all')
  const print = html`<a class="off-paper" href="${path}?${all.toString()}#${anchor}">Print all rows</a>`
  return html`
    <div class="table-foot">
      <p class="muted">${dotted(`${numberText(first)}–${numberText(first + rows.length - 1)} of ${numberText(total)}`, query.get('rows') === 'all' ? nothing : print)}</p>
      ${pager({ path, query, anchor }, page, pages)}
    </div>
  `
}

/** Links to newer and older rows of a log, of which nobody counts how many there are. */
export function openPager(list: PagedList, page: number, hasOlder: boolean): Html {
  if (page === 1 && !hasOlder) return nothing
  return pager(list, page, hasOlder ? page + 1 : page)
}

interface PagedList {
  readonly path: string
  readonly query: URLSearchParams
  /** The id of its card; none if the page is the table alone. */
  readonly anchor: string | undefined
}

/** How many rows a table on the page of a record shows. */
export const RECORD_ROWS = 100

function pager({ path, query, anchor }: PagedList, page: number, pages: number): Html {
  const link = (to: number, text: string, rel: string) => {
    const next = new URLSearchParams(query)
    if (to === 1) next.delete('page')
    else next.set('page', String(to))
    return html`<a class="button small" rel="${rel}" href="${next.size === 0 ? path : `${path}?${next}`}${anchor === undefined ? '' : `#${anchor}`}">${text}</a>`
  }
  return html`
    <nav class="pager" aria-label="Pages">
      ${page > 1 ? link(page - 1, 'Previous', 'prev') : nothing}
      ${page < pages ? link(page + 1, 'Next', 'next') : nothing}
      ${page + 1 < pages ? link(pages, 'Last', 'last') : nothing}
    </nav>
  `
}
