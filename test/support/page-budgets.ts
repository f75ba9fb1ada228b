/** The budgets of pages, whatever the size of the account. */

export const MAX_PAGE_BYTES = 60 * 1024
export const MAX_PAGE_NODES = 4000

/** Every kind of page, for the accounts of heavy-year.ts. */
export const heavyPages = [
  '/',
  '/training',
  '/training?range=4w',
  '/training?range=1y',
  '/training?range=all',
  '/training?range=all&table=grades',
  '/training?range=1y&compare=year',
  '/training?range=1y&kind=endurance&sort=grade',
  '/training?range=all&sort=program&page=70',
  '/training/1000',
  '/training/1000?view=json',
  '/training/1000?view=curl',
  '/bests',
  '/programs',
  '/programs/1',
  '/programs/1?view=json',
  '/locks',
  '/locks?state=completed&page=10',
  '/locks?table=months',
  '/locks/150',
  '/locks/150?view=json',
  '/lock-templates',
  '/lock-templates/41',
  '/keys',
  '/settings',
  '/docs',
  '/docs/people',
]

/** The number of elements in the markup of a page. */
export function nodesOf(page: string): number {
  return page.match(/<[a-z]/g)?.length ?? 0
}
