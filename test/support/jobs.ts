import { open, type Store } from '../../src/store/index.ts'

/** As if enough time had passed for the leases of killed processes to end. */
export async function endLeases({ db }: Pick<Store, 'db'>): Promise<void> {
  await db.updateTable('job').set({ lease_until: 0 }).where('holder', 'is not', null).execute()
}

/** The same for a database that need not be there, or have the present schema. */
export async function endLeasesOf(url: string): Promise<void> {
  try {
    await using store = await openAny(url)
    await endLeases(store)
  } catch {
    // It has no jobs.
  }
}

async function openAny(url: string): Promise<Store & AsyncDisposable> {
  const store = await open(url, { busyTimeoutMs: 5000, create: false, schema: 'any' })
  return { ...store, [Symbol.asyncDispose]: () => store.close() }
}
