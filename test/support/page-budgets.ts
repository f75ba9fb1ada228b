import { pageAddresses } from './page-addresses.ts'

/** The budgets of pages, whatever the size of the account. */

export const MAX_PAGE_BYTES = 60 * 1024
export const MAX_PAGE_NODES = 4000

/** The pages of the accounts of heavy-year.ts. */
export const heavyPages: readonly string[] = pageAddresses({
  '/year/:id': new Date().getUTCFullYear() - 1,
  '/training/:id': 1000,
  '/programs/:id': 1,
  '/locks/:id': 150,
  '/lock-templates/:id': 41,
})

/** The same with other views of some, and the reference. */
export const heavyViews: readonly string[] = [
  ...heavyPages,
  '/training?range=4w',
  '/training?range=1y',
  '/training?range=all',
  '/training?range=1y&type=endurance&sort=grade',
  '/training?range=all&sort=program&page=70',
  '/training/1000?view=data',
  '/programs/1?view=data',
  '/locks?range=all&page=10',
  '/locks/150?view=data',
  '/docs',
  '/docs/people',
]

/** The number of elements in the markup of a page. */
export function nodesOf(page: string): number {
  return page.match(/<[a-z]/g)?.length ?? 0
}
