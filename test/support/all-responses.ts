import type { Store } from '../../src/store/index.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { addresses } from './addresses.ts'
import { startSecondServer } from './second-server.ts'
import { makers, trainingTemplate, world } from './records.ts'
import { unlimited } from './service.ts'
import { ask } from './serving.ts'
import { exportOf } from './archives.ts'

/** Records of each kind of three accounts, of which the second reads the first. */
export const records: readonly object[] = [
  ...world,
  ...makers.flatMap(make => [make(5, 1), make(6, 1), make(7, 1), make(8, 2), make(9, 3)]),
  trainingTemplate(10, 3, { isPublic: true }),
]

/** Addresses that show all or some of them. */
export const views = [
  ...addresses(
    {
      limit: ['2'],
      offset: ['1'],
      cursor: [''],
      ownerId: ['1'],
      targetUserId: ['1'],
      passed: ['true'],
      lockState: ['completed'],
      include: ['owner', 'template'],
    },
    ['5', '8', '9', '10'],
  ),
].filter(address => !(address.includes('offset') && address.includes('cursor')))

/** Whether a response has records: no statistics, no people. */
export function isOfRecords(view: string): boolean {
  return !/^\/api\/v1\/(me|users|status)\b|\/stats\b/.test(view)
}

/** A token of the second account. */
export function readersToken(store: Store): Promise<string> {
  const request = {
    accountId: 2,
    name: 'reader',
    scopes: ['lkbx:read', 'dtt:read', 'shared:access'],
    expiresAt: null,
  } as const
  return createKey(store, request, Date.now())
}

/** The responses that the second account gets from all of them, and the whole export. */
export async function everyAnswer(store: Store): Promise<unknown[]> {
  const token = await readersToken(store)
  await using service = await startSecondServer({ store }, unlimited)
  const found: unknown[] = []
  for (const address of views) {
    const { status, text } = await ask(`http://127.0.0.1:${service.port}${address}`, token)
    // These two change with each request: when the token was last used, and what was read.
    const changes = address.endsWith('/me') || address.startsWith('/api/v1/me/reads')
    found.push([address, status, status === 200 && !changes ? text : ''])
  }
  return [...found, await exportOf(store)]
}
